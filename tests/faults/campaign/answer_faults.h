#pragma once
// The error codes that wait for the broker's next answers in the group protocol. Thread-safe: the
// proxy's thread asks, the lane's adds and counts.

#include <cstdint>
#include <list>
#include <mutex>
#include <vector>

#include "tests/support/kafka_answers.h"

namespace onceward::campaign {

class AnswerFaults {
  public:
    // Answers with a number to finish() it by.
    std::size_t add(support::GroupRequest request, std::int16_t code, std::uint32_t times) {
        const std::lock_guard lock(mutex_);
        met_.push_back(0);
        waiting_.push_back({met_.size() - 1, request, code, times});
        return met_.size() - 1;
    }
    std::int16_t next(support::GroupRequest request) {
        const std::lock_guard lock(mutex_);
        for (Waiting& waiting : waiting_) {
            if (waiting.request != request || waiting.times == 0) continue;
            --waiting.times;
            ++met_[waiting.number];
            return waiting.code;
        }
        return 0;
    }
    // Takes away what still waits; answers with how many were met.
    std::int64_t finish(std::size_t number) {
        const std::lock_guard lock(mutex_);
        waiting_.remove_if([&](const Waiting& waiting) { return waiting.number == number; });
        return met_[number];
    }

  private:
    struct Waiting {
        std::size_t number;
        support::GroupRequest request;
        std::int16_t code;
        std::uint32_t times;
    };
    std::mutex mutex_;
    std::list<Waiting> waiting_;
    std::vector<std::int64_t> met_;
};

}  // namespace onceward::campaign
