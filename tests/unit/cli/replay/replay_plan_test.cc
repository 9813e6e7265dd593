#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/replay/replay.h"

namespace onceward {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ReplayPlan plan(std::int64_t begin, std::int64_t end, std::int64_t earliest, std::int64_t latest,
                std::int64_t fence) {
    return plan_replay({Partition{0}, Offset{begin}, Offset{end}},
                       {Offset{earliest}, Offset{latest}}, Offset{fence});
}
ReplayRange range(std::int64_t begin, std::int64_t end) {
    return {Partition{0}, Offset{begin}, Offset{end}};
}

TEST(ReplayPlan, WhatTheLogHoldsAndTheGroupHasPassedIsReadAgain) {
    const ReplayPlan whole = plan(10, 60, 10, 80, 60);
    EXPECT_EQ(whole.range, range(10, 60));
    EXPECT_THAT(whole.notes, IsEmpty());
}

TEST(ReplayPlan, WhatIsNoLongerInTheLogIsTold) {
    const ReplayPlan trimmed = plan(0, 60, 10, 80, 60);
    EXPECT_EQ(trimmed.range, range(10, 60));
    EXPECT_THAT(trimmed.notes, ElementsAre("offsets 0 to 9 are no longer in the log"));
    const ReplayPlan gone = plan(0, 5, 10, 80, 60);
    EXPECT_EQ(gone.range, range(5, 5));
    EXPECT_THAT(gone.notes, ElementsAre("offsets 0 to 4 are no longer in the log"));
}

// Applied here without dedup it would be applied once more by its worker.
TEST(ReplayPlan, WhatTheGroupHasNotPassedIsLeftToItsWorkers) {
    const ReplayPlan unread = plan(50, 100, 0, 80, 60);
    EXPECT_EQ(unread.range, range(50, 60));
    EXPECT_THAT(unread.notes,
                ElementsAre("offsets 60 to 79 the group has not passed yet; its workers will"));
    const ReplayPlan behind = plan(70, 75, 0, 80, 60);
    EXPECT_EQ(behind.range, range(70, 70));
    EXPECT_EQ(behind.notes.size(), 1U);
}

TEST(ReplayPlan, BehindTheLogsEndThereIsNothingToTell) {
    const ReplayPlan beyond = plan(50, 1000, 0, 80, 80);
    EXPECT_EQ(beyond.range, range(50, 80));
    EXPECT_THAT(beyond.notes, IsEmpty());
}

}  // namespace
}  // namespace onceward
