#include "gateway/requests/key_turns.h"

namespace onceward {

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
