#pragma once
// The turns of requests that have the same key in this process: one is carried out, and the others
// wait for its answer, or for their turn after it. For SinkBatcher and UpstreamRequests, under
// their mutex; answers are sent once the mutex is free.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gateway/requests/keyed_request.h"

namespace onceward {

// One of the requests that were submitted together, and the callback that they share.
struct Asking {
    std::shared_ptr<const RequestTarget::Then> then;
    std::size_t place = 0;
    void tell(KeyedOutcome outcome) const { (*then)(place, std::move(outcome)); }
};

// An answer to send. Several may share it: those that are told later do not each hold a copy.
struct Told {
    Told(Asking one, std::shared_ptr<KeyedOutcome> shared)
        : asking(std::move(one)), outcome(std::move(shared)) {}
    Told(Asking one, KeyedOutcome own)
        : Told(std::move(one), std::make_shared<KeyedOutcome>(std::move(own))) {}
    Asking asking;
    std::shared_ptr<KeyedOutcome> outcome;
};

// The answers to send once the mutex is free. Those that share one are in one thread's list.
using ToldLater = std::vector<Told>;

inline void tell(ToldLater& told) {
    for (Told& one : told) {
        const auto outcome = std::move(one.outcome);
        const bool last = outcome.use_count() == 1;
        one.asking.tell(last ? std::move(*outcome) : *outcome);
    }
}

// Pure: the time is given; used by one thread at a time. Only the ledger knows whether the first
// request of a key is its original or a repeat. Until the ledger has answered, the other requests
// wait even if they asked not to, and get no "in flight".
class KeyTurns {
  public:
    using Clock = std::chrono::steady_clock;
    struct Turn {
        Asking asking;
        KeyedRequest request;
        std::uint64_t group = 0;
        Clock::time_point arrived{};
        bool key_is_known = false;  // very likely: a request with the same key has just ended
        RequestState state = RequestState::waiting;
    };
    // Returns the request if it is to be carried out now; end() follows. Otherwise it waits for the
    // end of the running one. If that is the original, and `wait` is 0, it is answered at once.
    std::optional<Turn> admit(Turn turn, std::chrono::milliseconds wait, Clock::time_point now,
                              ToldLater& told);
    // The ledger knows nothing of the key yet, so its request is the original. Answers those that
    // do not wait for an original.
    void original(const Digest& key, Clock::time_point now, ToldLater& told);
    // Gives the outcome to waiting requests that have the same fingerprint and arrived before
    // `as_of`, the time at which the database was asked for it. Returns the others in the order of
    // arrival; they take their turn. If the outcome is not stored under the key, `ran` is the
    // request that got it: a request of another content takes its turn, since it may pass. DANGER:
    // a later request must not get this outcome. This process may have been frozen after its COMMIT
    // while a fail-over lost it. Then the new server may have given the key another effect before
    // that request was sent.
    std::vector<Turn> end(const Digest& key, const KeyedOutcome& repeated, Clock::time_point as_of,
                          ToldLater& told, const HttpRequest* ran = nullptr);
    // Answers the requests that have waited long enough: "in flight" if an original runs, otherwise
    // they are to ask again.
    ToldLater late(Clock::time_point now);
    Clock::time_point next_deadline() const {
        return deadlines_.empty() ? never : deadlines_.begin()->first.first;
    }
    // How many requests wait for another one of their key.
    std::size_t waiting() const { return deadlines_.size(); }
    bool runs(const Digest& key) const { return running_.contains(key); }
    bool runs_original(const Digest& key) const {
        const auto found = running_.find(key);
        return found != running_.end() && found->second.original;
    }

  private:
    using Waiter = std::uint64_t;
    struct Waits {
        Turn turn;
        Clock::time_point wanted;    // until when it asked to wait
        Clock::time_point deadline;  // its place in `deadlines_`
    };
    struct Running {
        std::optional<Digest> fingerprint;
        std::map<Waiter, Waits> waiting{};
        bool original = false;
    };
    std::unordered_map<Digest, Running> running_;
    std::map<std::pair<Clock::time_point, Waiter>, Digest> deadlines_;  // of those keys
    Waiter last_ = 0;
};

}  // namespace onceward
