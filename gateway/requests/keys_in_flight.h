#pragma once
// The keys whose requests this process is working on, and who waits for them. Pure: the time is
// given; used by one thread at a time. Whether the first request of a key is its original or a
// repeat only the ledger knows. Until it has answered, the others wait whatever they asked for, and
// get no "in flight".

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dedup/message/digest.h"

namespace onceward {

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
    std::optional<Clock::time_point> next_deadline() const;
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

}  // namespace onceward
