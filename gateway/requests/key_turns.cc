#include "gateway/requests/key_turns.h"

#include <algorithm>

namespace onceward {
namespace {

// Requests wait at least this long for the ledger. It takes milliseconds unless it is in trouble.
constexpr std::chrono::seconds longest_look{5};

}  // namespace

std::optional<KeyTurns::Turn> KeyTurns::admit(Turn turn, std::chrono::milliseconds wait,
                                              Clock::time_point now, ToldLater& told) {
    const Digest key = turn.request.digest;
    const auto [found, is_first] =
        running_.try_emplace(key, Running{.fingerprint = turn.request.fingerprint});
    if (is_first) {
        change(turn.state, RequestEvent::queue);
        return turn;
    }
    Running& running = found->second;
    if (running.original && wait.count() <= 0) {
        told.emplace_back(std::move(turn.asking), KeyedAnswer{.state = KeyState::in_flight});
        return std::nullopt;
    }
    change(turn.state, RequestEvent::wait);
    const auto arrived = turn.arrived;
    const auto wanted = now + wait;
    const auto deadline = running.original ? wanted : std::max(wanted, arrived + longest_look);
    deadlines_.emplace(std::pair(deadline, ++last_), key);
    running.waiting.emplace(last_, Waits{std::move(turn), wanted, deadline});
    return std::nullopt;
}

void KeyTurns::original(const Digest& key, Clock::time_point now, ToldLater& told) {
    const auto found = running_.find(key);
    if (found == running_.end()) return;
    found->second.original = true;
    auto& waiting = found->second.waiting;
    for (auto at = waiting.begin(); at != waiting.end();) {
        auto& [waiter, waits] = *at;
        deadlines_.erase({waits.deadline, waiter});
        if (waits.wanted <= now) {
            told.emplace_back(std::move(waits.turn.asking),
                              KeyedAnswer{.state = KeyState::in_flight});
            at = waiting.erase(at);
            continue;
        }
        waits.deadline = waits.wanted;
        deadlines_.emplace(std::pair(waits.deadline, waiter), key);
        ++at;
    }
}

std::vector<KeyTurns::Turn> KeyTurns::end(const Digest& key, const KeyedOutcome& repeated,
                                          Clock::time_point as_of, ToldLater& told,
                                          const HttpRequest* ran) {
    std::vector<Turn> next;
    auto ended = running_.extract(key);
    if (ended.empty()) return next;
    const std::optional<Digest>& known = ended.mapped().fingerprint;
    std::shared_ptr<KeyedOutcome> shared;
    for (auto& [waiter, waits] : ended.mapped().waiting) {
        deadlines_.erase({waits.deadline, waiter});
        // Only the ledger knows which of the two owns the key: the one that ran may be the mistake.
        const std::optional<Digest>& own = waits.turn.request.fingerprint;
        const bool other = (known && own && *known != *own) ||
                           (ran != nullptr && !same_content(*ran, waits.turn.request.request));
        if (other || waits.turn.arrived > as_of) {
            waits.turn.key_is_known = true;
            next.push_back(std::move(waits.turn));
        } else {
            if (!shared) shared = std::make_shared<KeyedOutcome>(repeated);
            told.emplace_back(std::move(waits.turn.asking), shared);
        }
    }
    return next;
}

ToldLater KeyTurns::late(Clock::time_point now) {
    ToldLater told;
    while (next_deadline() <= now) {
        const auto due = deadlines_.extract(deadlines_.begin());
        Running& running = running_.at(due.mapped());
        KeyedOutcome outcome = KeyedAnswer{.state = KeyState::in_flight};
        if (!running.original) outcome = ask_again_soon();
        auto waits = running.waiting.extract(due.key().second);
        told.emplace_back(std::move(waits.mapped().turn.asking), std::move(outcome));
    }
    return told;
}

}  // namespace onceward
