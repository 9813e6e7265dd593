#include "dedup/policy/rejection_window.h"

namespace onceward {

void RejectionWindow::expire(Clock::time_point now) {
    while (!entries_.empty() && entries_.front().time + policy_.cap_window < now) {
        entries_.pop_front();
    }
}

bool RejectionWindow::would_exceed(Clock::time_point now, std::int64_t passed,
                                   std::int64_t rejected) {
    if (rejected == 0) return false;
    expire(now);
    for (const Entry& entry : entries_) {
        passed += entry.passed;
        rejected += entry.rejected;
    }
    return rejected >= policy_.cap_minimum &&
           static_cast<double>(rejected) > policy_.cap_share * static_cast<double>(passed);
}

void RejectionWindow::record(Clock::time_point now, std::int64_t passed, std::int64_t rejected) {
    expire(now);
    // One entry a second is enough, and bounds the memory.
    if (!entries_.empty() && now - entries_.back().time < std::chrono::seconds(1)) {
        entries_.back().passed += passed;
        entries_.back().rejected += rejected;
        return;
    }
    entries_.push_back({now, passed, rejected});
}

}  // namespace onceward
