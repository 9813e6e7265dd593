#pragma once
// The log's lines about a slice that has landed: what was refused, what conflicts. Used by the
// writer's thread; one for each topic. Throws only std::bad_alloc.

#include <chrono>
#include <cstdint>
#include <string>

#include "dedup/policy/slice_outcomes.h"

namespace onceward {

class SliceLog {
  public:
    explicit SliceLog(std::string topic) : topic_(std::move(topic)) {}
    void tell(const SliceOutcomes& sorted);

  private:
    void tell_of_rejected(const SliceOutcomes& sorted);

    const std::string topic_;
    std::int64_t untold_ = 0;  // rejected messages that are in no line yet
    std::chrono::steady_clock::time_point next_line_{};
};

}  // namespace onceward
