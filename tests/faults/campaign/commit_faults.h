#pragma once
// The faults that wait for a worker's next COMMIT, one for each. Thread-safe: the proxy's thread
// asks, the lane's adds and counts.

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/cutting_proxy.h"

namespace onceward::campaign {

class CommitFaults {
  public:
    // Answers with a number to finish() it by.
    std::size_t add(support::CommitFault what, std::uint32_t times) {
        const std::lock_guard lock(mutex_);
        met_.push_back(0);
        for (std::uint32_t i = 0; i < times; ++i) waiting_.push_back({met_.size() - 1, what});
        return met_.size() - 1;
    }
    // For one COMMIT that passes; only those of workers are met.
    support::CommitFault next(const std::string& application_name) {
        const std::lock_guard lock(mutex_);
        if (!application_name.starts_with("onceward") || waiting_.empty())
            return support::CommitFault::none;
        const Waiting first = waiting_.front();
        waiting_.pop_front();
        ++met_[first.number];
        return first.what;
    }
    // Takes away what still waits; answers with how many were met.
    std::int64_t finish(std::size_t number) {
        const std::lock_guard lock(mutex_);
        std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.number == number; });
        return met_[number];
    }

  private:
    struct Waiting {
        std::size_t number;
        support::CommitFault what;
    };
    std::mutex mutex_;
    std::deque<Waiting> waiting_;
    std::vector<std::int64_t> met_;
};

}  // namespace onceward::campaign
