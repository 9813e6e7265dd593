#include "gateway/in_flight.h"

namespace onceward {

InFlight::Admission InFlight::admit(const Digest& key, const std::optional<Digest>& fingerprint,
                                    std::chrono::milliseconds wait, Clock::time_point now) {
    using Kind = Admission::Kind;
    const auto [found, is_first] = running_.try_emplace(key, Running{fingerprint, {}});
    if (is_first) return {Kind::run, 0};
    Running& running = found->second;
    const bool other = running.fingerprint && fingerprint && *running.fingerprint != *fingerprint;
    if (wait.count() <= 0) return {Kind::in_flight, 0};
    const Waiter waiter = ++last_;
    running.waiters.insert(waiter);
    waiters_.emplace(waiter, std::pair(key, now + wait));
    deadlines_.emplace(now + wait, waiter);
    // Which of the two has the key only its ledger tells: the one that runs may be the mistake.
    return {other ? Kind::behind : Kind::wait, waiter};
}

std::vector<InFlight::Waiter> InFlight::end(const Digest& key) {
    const auto found = running_.find(key);
    if (found == running_.end()) return {};
    std::vector<Waiter> ended(found->second.waiters.begin(), found->second.waiters.end());
    running_.erase(found);
    for (const Waiter waiter : ended) {
        const auto place = waiters_.find(waiter);
        deadlines_.erase({place->second.second, waiter});
        waiters_.erase(place);
    }
    return ended;
}

std::vector<InFlight::Waiter> InFlight::overdue(Clock::time_point now) {
    std::vector<Waiter> ended;
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        const Waiter waiter = deadlines_.begin()->second;
        deadlines_.erase(deadlines_.begin());
        const auto place = waiters_.find(waiter);
        running_.at(place->second.first).waiters.erase(waiter);
        waiters_.erase(place);
        ended.push_back(waiter);
    }
    return ended;
}

std::optional<InFlight::Clock::time_point> InFlight::next_deadline() const {
    if (deadlines_.empty()) return std::nullopt;
    return deadlines_.begin()->first;
}

}  // namespace onceward
