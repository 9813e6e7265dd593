#pragma once
// Whose turn it is: of several requests with one key in this process one is carried out, and the
// others wait for its answer, or for their turn after it. For SinkBatcher and UpstreamRequests,
// under their mutex; answers are sent once the mutex is free.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dedup/message/digest.h"
#include "gateway/requests/keyed_request.h"
#include "gateway/requests/request_state.h"

namespace onceward {

// The keys whose requests this process is working on, and who waits for them. Pure: the time is
// given; used by one thread at a time. Whether the first request of a key is its original or a
// repeat only the ledger knows. Until it has answered, the others wait whatever they asked for, and
// get no "in flight".
class KeysInFlight {
  public:
    using Clock = std::chrono::steady_clock;
    using Waiter = std::uint64_t;  // a name for who waits, given by admit()
    struct Admission {
        enum class Kind : std::uint8_t {
            run,        // no other request has the key: carry the request out, and end() it
            wait,       // for the first one's answer
            behind,     // another request with the key runs: wait, and be admitted again
            in_flight,  // the original runs, and this one does not wait
        } kind = Kind::run;
        Waiter waiter = 0;
    };
    Admission admit(const Digest& key, const std::optional<Digest>& fingerprint,
                    std::chrono::milliseconds wait, Clock::time_point now);
    // The ledger knows nothing of the key yet, so its request is the original. Answers with those
    // who do not wait for an original; they wait no longer.
    std::vector<Waiter> original(const Digest& key, Clock::time_point now);
    // The key's first request is answered. Returns those that waited for it or after it, in the
    // order in which they came.
    std::vector<Waiter> end(const Digest& key);
    struct Overdue {
        Waiter waiter = 0;
        bool original = false;  // what they waited for; false: unknown
    };
    // Those who have waited long enough; they wait no longer.
    std::vector<Overdue> overdue(Clock::time_point now);
    Clock::time_point next_deadline() const {
        return deadlines_.empty() ? never : deadlines_.begin()->first;
    }
    std::size_t running() const { return running_.size(); }
    bool runs(const Digest& key) const { return running_.contains(key); }
    bool runs_original(const Digest& key) const {
        const auto found = running_.find(key);
        return found != running_.end() && found->second.original;
    }

  private:
    struct Running {
        std::optional<Digest> fingerprint;
        std::set<Waiter> waiters;
        bool original = false;
    };
    struct Waits {
        Digest key;
        Clock::time_point wanted;    // how long it said to wait
        Clock::time_point deadline;  // its place in `deadlines_`
    };
    void forget(Waiter waiter);
    std::unordered_map<Digest, Running> running_;
    std::set<std::pair<Clock::time_point, Waiter>> deadlines_;
    std::map<Waiter, Waits> waiters_;
    Waiter last_ = 0;
};

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
