#pragma once
// A caller that wants an outcome, and the answers for callers that waited for another request with
// their key. For SinkBatcher and UpstreamRequests, under their mutex. An Asking shares the callback
// that it was submitted with.

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gateway/requests/keyed_request.h"
#include "gateway/requests/keys_in_flight.h"

namespace onceward {

// One of the requests that were submitted together.
struct Asking {
    std::shared_ptr<const RequestTarget::Then> then;
    std::size_t place = 0;
    void tell(KeyedOutcome outcome) const { (*then)(place, std::move(outcome)); }
};

// The answers to send once the mutex is free.
using ToldLater = std::vector<std::pair<Asking, KeyedOutcome>>;

inline void tell(ToldLater& told) {
    for (auto& [one, outcome] : told) one.tell(std::move(outcome));
}

// Takes out of `waiting` those who do not wait for an original, since `key` has one that runs.
template <class Waiting>
void take_for_original(KeysInFlight& in_flight,
                       std::unordered_map<KeysInFlight::Waiter, Waiting>& waiting,
                       const Digest& key, KeysInFlight::Clock::time_point now, ToldLater& told) {
    for (const KeysInFlight::Waiter waiter : in_flight.original(key, now)) {
        told.emplace_back(std::move(waiting.extract(waiter).mapped().asking),
                          KeyedAnswer{.state = KeyState::in_flight});
    }
}

// Takes out of `waiting` those who have waited long enough. Only the original's request is known to
// be in flight; the others are to ask again.
template <class Waiting>
ToldLater take_late(KeysInFlight& in_flight,
                    std::unordered_map<KeysInFlight::Waiter, Waiting>& waiting,
                    KeysInFlight::Clock::time_point now) {
    ToldLater late;
    for (const KeysInFlight::Overdue& one : in_flight.overdue(now)) {
        KeyedOutcome told = KeyedAnswer{.state = KeyState::in_flight};
        if (!one.original) told = ask_again_soon();
        late.emplace_back(std::move(waiting.extract(one.waiter).mapped().asking), std::move(told));
    }
    return late;
}

}  // namespace onceward
