#pragma once
// Whose turn it is: of several requests with one key in this process one is carried out, and the
// others wait for its answer, or for their turn after it. For SinkBatcher and UpstreamRequests,
// under their mutex; answers are sent once the mutex is free.

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gateway/requests/keyed_request.h"
#include "gateway/requests/keys_in_flight.h"
#include "gateway/requests/request_state.h"

namespace onceward {

// One of the requests that were submitted together, and the callback that they share.
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

class KeyTurns {
  public:
    using Clock = KeysInFlight::Clock;
    struct Turn {
        Asking asking;
        std::optional<KeyedRequest> request;  // nullopt: it waits for the other one's answer
        std::uint64_t group = 0;
        Clock::time_point arrived{};
        RequestState state = RequestState::waiting;
    };
    // Returns the request if it is to be carried out now, and then end()ed. REQUIRES: it has one.
    std::optional<Turn> admit(Turn turn, std::chrono::milliseconds wait, Clock::time_point now,
                              ToldLater& told);
    // Answers those that do not wait for an original, since `key` has one that runs.
    void original(const Digest& key, Clock::time_point now, ToldLater& told);
    // Answers those that waited for the key's answer, and returns those that waited for their turn.
    std::vector<Turn> end(const Digest& key, const KeyedOutcome& repeated, ToldLater& told);
    // Those who have waited long enough. Only the original's request is known to be in flight; the
    // others are to ask again.
    ToldLater late(Clock::time_point now);
    const KeysInFlight& keys() const { return keys_; }

  private:
    Turn take(KeysInFlight::Waiter waiter) { return std::move(waiting_.extract(waiter).mapped()); }
    KeysInFlight keys_;
    std::unordered_map<KeysInFlight::Waiter, Turn> waiting_;
};

}  // namespace onceward
