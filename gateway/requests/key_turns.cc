#include "gateway/requests/key_turns.h"

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

std::optional<KeyTurns::Turn> KeyTurns::admit(Turn turn, std::chrono::milliseconds wait,
                                              Clock::time_point now, ToldLater& told) {
    using Kind = KeysInFlight::Admission::Kind;
    const KeysInFlight::Admission admission =
        keys_.admit(turn.request->digest, turn.request->fingerprint, wait, now);
    switch (admission.kind) {
        case Kind::run: change(turn.state, RequestEvent::queue); return turn;
        case Kind::in_flight:
            told.emplace_back(std::move(turn.asking), KeyedAnswer{.state = KeyState::in_flight});
            return std::nullopt;
        case Kind::wait: turn.request.reset(); break;
        case Kind::behind: break;
    }
    change(turn.state, RequestEvent::wait);
    waiting_.emplace(admission.waiter, std::move(turn));
    return std::nullopt;
}

void KeyTurns::original(const Digest& key, Clock::time_point now, ToldLater& told) {
    for (const KeysInFlight::Waiter waiter : keys_.original(key, now)) {
        told.emplace_back(take(waiter).asking, KeyedAnswer{.state = KeyState::in_flight});
    }
}

std::vector<KeyTurns::Turn> KeyTurns::end(const Digest& key, const KeyedOutcome& repeated,
                                          ToldLater& told) {
    std::vector<Turn> next;
    for (const KeysInFlight::Waiter waiter : keys_.end(key)) {
        Turn turn = take(waiter);
        if (turn.request) {
            next.push_back(std::move(turn));
        } else {
            told.emplace_back(std::move(turn.asking), repeated);
        }
    }
    return next;
}

ToldLater KeyTurns::late(Clock::time_point now) {
    ToldLater told;
    for (const KeysInFlight::Overdue& one : keys_.overdue(now)) {
        KeyedOutcome outcome = KeyedAnswer{.state = KeyState::in_flight};
        if (!one.original) outcome = ask_again_soon();
        told.emplace_back(take(one.waiter).asking, std::move(outcome));
    }
    return told;
}

}  // namespace onceward
