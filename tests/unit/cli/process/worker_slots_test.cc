// Workers whose consumer failed for good: restarted, later and later, and never at the cost of the
// others.

#include "cli/process/worker_slots.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace onceward {
namespace {

using namespace std::chrono_literals;

TEST(WorkerSlots, WaitTwiceAsLongAfterEachFailureAndNeverBeyondAMinute) {
    EXPECT_EQ(restart_pause(1), 2s);
    EXPECT_EQ(restart_pause(2), 4s);
    EXPECT_EQ(restart_pause(5), 32s);
    EXPECT_EQ(restart_pause(6), 1min);
    EXPECT_EQ(restart_pause(1000), 1min);
}

}  // namespace
}  // namespace onceward
