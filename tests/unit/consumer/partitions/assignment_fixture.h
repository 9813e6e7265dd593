#pragma once
// An assignment with pauses of one to five seconds, and a partition of it that is read from an
// offset. Used by one thread.

#include <gtest/gtest.h>

#include "consumer/partitions/assignment.h"

namespace onceward {

class AssignmentFixture : public testing::Test {
  protected:
    static FenceState fence(std::int64_t offset) {
        FenceState state;
        state.owner = "me";
        state.next_offset = Offset{offset};
        return state;
    }
    void read_from(std::int64_t offset) {
        assignment_.taken(partition_, fence(offset));
        assignment_.sought(partition_, Offset{offset});
    }

    const TopicPartition partition_{"topic", Partition{0}};
    const Assignment::Clock::time_point now_ = Assignment::Clock::now();
    Assignment assignment_{{std::chrono::milliseconds(1000), std::chrono::milliseconds(5000)}};
};

}  // namespace onceward
