#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "consumer/partitions/first_position.h"

namespace onceward {
namespace {

using Action = OutOfRangePlan::Action;
using testing::HasSubstr;

constexpr LogRange log_range{Offset{80}, Offset{200}};

OutOfRangePlan plan(std::int64_t fence, OutOfRangePolicy policy, int seeks = 0) {
    return plan_out_of_range(Offset{fence}, log_range, policy, seeks);
}

TEST(Gap, HaltNamesWhatIsLostUpToTheLogsBegin) {
    const OutOfRangePlan gap = plan(60, OutOfRangePolicy::halt);
    EXPECT_EQ(gap.action, Action::halt);
    EXPECT_EQ(gap.halt.reason, HaltReason::out_of_range);
    EXPECT_EQ(gap.halt.lost, (OffsetRange{Offset{60}, Offset{80}}));
    EXPECT_THAT(gap.halt.text, HasSubstr("offsets 60 to 79"));
}

TEST(Gap, TheOtherPoliciesSkipToTheirEndOfTheLog) {
    EXPECT_EQ(plan(60, OutOfRangePolicy::earliest).action, Action::skip);
    EXPECT_EQ(plan(60, OutOfRangePolicy::earliest).target, Offset{80});
    EXPECT_EQ(plan(60, OutOfRangePolicy::latest).target, Offset{200});
}

TEST(Gap, ALogThatEndsBelowTheFenceHaltsWhateverThePolicy) {
    for (const auto policy :
         {OutOfRangePolicy::halt, OutOfRangePolicy::earliest, OutOfRangePolicy::latest}) {
        const OutOfRangePlan gap = plan(201, policy);
        EXPECT_EQ(gap.action, Action::halt);
        EXPECT_EQ(gap.halt.reason, HaltReason::log_cut);
        EXPECT_FALSE(gap.halt.lost);
    }
}

TEST(Gap, AnOffsetThatIsThereIsSoughtAgainAFewTimesAndThenHalts) {
    for (const std::int64_t fence : {80, 100, 200}) {
        for (int seeks = 0; seeks < seeks_at_most; ++seeks) {
            const OutOfRangePlan gap = plan(fence, OutOfRangePolicy::earliest, seeks);
            EXPECT_EQ(gap.action, Action::seek);
            EXPECT_EQ(gap.target, Offset{fence});
        }
        const OutOfRangePlan gap = plan(fence, OutOfRangePolicy::earliest, seeks_at_most);
        EXPECT_EQ(gap.action, Action::halt);
        EXPECT_EQ(gap.halt.reason, HaltReason::log_cut);
    }
}

TEST(Gap, AFenceThatStaysKeepsItsEpochSoThatARewrittenLogIsRefusedAgain) {
    FenceState fence;
    fence.next_offset = Offset{100};
    fence.leader_epoch = LeaderEpoch{5};
    const FenceState again = reading_from(Offset{100}, fence);
    EXPECT_EQ(again.next_offset, Offset{100});
    EXPECT_EQ(again.leader_epoch, LeaderEpoch{5});
    const FenceState moved = reading_from(Offset{120}, fence);
    EXPECT_EQ(moved.next_offset, Offset{120});
    EXPECT_EQ(moved.leader_epoch, LeaderEpoch{-1});
}

}  // namespace
}  // namespace onceward
