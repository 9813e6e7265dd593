#pragma once
// Watches the share of rejected messages of a topic over a sliding time. Pure: the clock is handed
// in. Not thread-safe.

#include <chrono>
#include <cstdint>
#include <deque>

#include "dedup/policy/topic_policy.h"

namespace onceward {

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

}  // namespace onceward
