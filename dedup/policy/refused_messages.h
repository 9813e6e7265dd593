#pragma once
// What is remembered of messages that were refused. Pure: the clock is handed in. Not thread-safe.

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "dedup/base/types.h"
#include "dedup/policy/topic_policy.h"

namespace onceward {

// Watches the share of rejected messages of a topic over a sliding time.
class RejectionWindow {
  public:
    using Clock = std::chrono::steady_clock;
    explicit RejectionWindow(RejectPolicy policy) : policy_(policy) {}
    // Whether `rejected` more of `passed` messages would go beyond the policy's cap.
    bool would_exceed(Clock::time_point now, std::int64_t passed, std::int64_t rejected);
    // They were committed.
    void record(Clock::time_point now, std::int64_t passed, std::int64_t rejected);
    // The operator has dealt with it; counting starts again.
    void clear() { entries_.clear(); }

  private:
    struct Entry {
        Clock::time_point time;
        std::int64_t passed;
        std::int64_t rejected;
    };
    void expire(Clock::time_point now);
    RejectPolicy policy_;
    std::deque<Entry> entries_;
};

// How often the message that holds up its partition has been tried. In memory: a worker that takes
// the partition over starts counting again.
class MessageRetries {
  public:
    // `attempts` beyond the first one; `backoff` before the first of them.
    MessageRetries(int attempts, std::chrono::milliseconds backoff)
        : attempts_(attempts), backoff_(backoff) {}

    // How long this message must wait before it is tried again, without jitter; nullopt if it has
    // used all its tries.
    std::optional<std::chrono::milliseconds> next(Partition partition, Offset offset);
    // How often it was tried again.
    int tried(Partition partition, Offset offset) const;
    // Everything below `end` has been passed.
    void passed(Partition partition, Offset end);

  private:
    struct Waiting {
        Offset offset;
        int tried = 0;
    };
    int attempts_;
    std::chrono::milliseconds backoff_;
    std::map<Partition, Waiting> waiting_;
};

}  // namespace onceward
