#include "gateway/requests/keys_in_flight.h"

#include <algorithm>

namespace onceward {
namespace {

// How long at least the ledger is waited for, which takes milliseconds unless it is in trouble.
constexpr std::chrono::seconds longest_look{5};

}  // namespace

KeysInFlight::Admission KeysInFlight::admit(const Digest& key,
                                            const std::optional<Digest>& fingerprint,
                                            std::chrono::milliseconds wait, Clock::time_point now) {
    using Kind = Admission::Kind;
    const auto [found, is_first] = running_.try_emplace(key, Running{fingerprint, {}});
    if (is_first) return {Kind::run, 0};
    Running& running = found->second;
    const bool other = running.fingerprint && fingerprint && *running.fingerprint != *fingerprint;
    if (running.original && wait.count() <= 0) return {Kind::in_flight, 0};
    const Waiter waiter = ++last_;
    const auto wanted = now + wait;
    const auto deadline = running.original ? wanted : std::max(wanted, now + longest_look);
    running.waiters.insert(waiter);
    waiters_.emplace(waiter, Waits{key, wanted, deadline});
    deadlines_.emplace(deadline, waiter);
    // Only the ledger knows which of the two owns the key: the one that runs may be the mistake.
    return {other ? Kind::behind : Kind::wait, waiter};
}

std::vector<KeysInFlight::Waiter> KeysInFlight::original(const Digest& key, Clock::time_point now) {
    std::vector<Waiter> ended;
    const auto found = running_.find(key);
    if (found == running_.end()) return ended;
    found->second.original = true;
    const std::set<Waiter> waiters = found->second.waiters;
    for (const Waiter waiter : waiters) {
        Waits& waits = waiters_.at(waiter);
        if (waits.wanted <= now) {
            forget(waiter);
            ended.push_back(waiter);
            continue;
        }
        deadlines_.erase({waits.deadline, waiter});
        waits.deadline = waits.wanted;
        deadlines_.emplace(waits.deadline, waiter);
    }
    return ended;
}

std::vector<KeysInFlight::Waiter> KeysInFlight::end(const Digest& key) {
    const auto found = running_.find(key);
    if (found == running_.end()) return {};
    std::vector<Waiter> ended(found->second.waiters.begin(), found->second.waiters.end());
    for (const Waiter waiter : ended) forget(waiter);
    running_.erase(key);
    return ended;
}

std::vector<KeysInFlight::Overdue> KeysInFlight::overdue(Clock::time_point now) {
    std::vector<Overdue> ended;
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        const Waiter waiter = deadlines_.begin()->second;
        ended.push_back({waiter, running_.at(waiters_.at(waiter).key).original});
        forget(waiter);
    }
    return ended;
}

void KeysInFlight::forget(Waiter waiter) {
    const auto place = waiters_.find(waiter);
    running_.at(place->second.key).waiters.erase(waiter);
    deadlines_.erase({place->second.deadline, waiter});
    waiters_.erase(place);
}

std::optional<KeysInFlight::Clock::time_point> KeysInFlight::next_deadline() const {
    if (deadlines_.empty()) return std::nullopt;
    return deadlines_.begin()->first;
}

}  // namespace onceward
