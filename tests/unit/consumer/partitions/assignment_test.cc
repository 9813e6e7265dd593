#include "consumer/partitions/assignment.h"

#include "consumer/partitions/first_position.h"
#include "tests/unit/consumer/partitions/assignment_fixture.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

class AssignmentTest : public AssignmentFixture {
  protected:
    std::chrono::milliseconds pause_after_missing() {
        assignment_.missed(partition_, now_, 0);
        return std::chrono::duration_cast<std::chrono::milliseconds>(
            assignment_.find(partition_)->not_before - now_);
    }
    std::chrono::milliseconds delay_after_halt(std::chrono::milliseconds first) {
        assignment_.halt(partition_, {HaltReason::failed, "why"}, now_, first);
        return std::chrono::duration_cast<std::chrono::milliseconds>(
            *assignment_.find(partition_)->retry - now_);
    }
};

TEST_F(AssignmentTest, AMissedFenceAndAnEndedHaltMayMeanAnotherLog) {
    assignment_.assigned(partition_);
    const auto assigned = assignment_.changes();
    assignment_.missed(partition_, now_, 0);
    EXPECT_GT(assignment_.changes(), assigned);
    assignment_.halt(partition_, {HaltReason::log_cut, "why"}, now_, 0ms);
    const auto halted = assignment_.changes();
    assignment_.wake(partition_);
    EXPECT_GT(assignment_.changes(), halted);
}

TEST_F(AssignmentTest, APartitionIsTakenThenSoughtThenRead) {
    assignment_.assigned(partition_);
    EXPECT_EQ(assignment_.next_take_over(now_), partition_);
    EXPECT_TRUE(assignment_.seeks().empty());
    assignment_.taken(partition_, fence(7));
    EXPECT_EQ(assignment_.next_take_over(now_), std::nullopt);
    ASSERT_EQ(assignment_.seeks().size(), 1U);
    EXPECT_EQ(assignment_.seeks()[0].offset, Offset{7});
    EXPECT_FALSE(assignment_.reading(partition_));
    assignment_.sought(partition_, Offset{7});
    EXPECT_TRUE(assignment_.reading(partition_));
}

TEST_F(AssignmentTest, ASeekToWhereTheFenceStoodBeforeDoesNotCount) {
    assignment_.assigned(partition_);
    assignment_.taken(partition_, fence(7));
    assignment_.retake_all();
    assignment_.taken(partition_, fence(9));
    assignment_.sought(partition_, Offset{7});
    EXPECT_FALSE(assignment_.reading(partition_));
    EXPECT_EQ(assignment_.seeks().size(), 1U);
}

TEST_F(AssignmentTest, MissedFencesWaitTwiceAsLongEachTimeUpToTheLongest) {
    assignment_.assigned(partition_);
    for (const auto expected : {1000ms, 2000ms, 4000ms, 5000ms, 5000ms}) {
        EXPECT_EQ(pause_after_missing(), expected);
        read_from(0);
    }
}

TEST_F(AssignmentTest, RecordsThatCannotBeReadLeaveThePartitionReadingForWhatCameBefore) {
    assignment_.assigned(partition_);
    read_from(7);
    assignment_.unreadable(partition_, Offset{9}, "checksum");
    EXPECT_TRUE(assignment_.reading(partition_));
    assignment_.committed(partition_);
    EXPECT_EQ(assignment_.stopped_reading(), std::vector{partition_});
    EXPECT_EQ(assignment_.find(partition_)->trouble.text, "checksum");
    assignment_.wait(partition_, now_ + 1s);
    EXPECT_TRUE(assignment_.stopped_reading().empty());
    read_from(9);
    EXPECT_TRUE(assignment_.stopped_reading().empty()) << "it is read again";
}

TEST_F(AssignmentTest, AWokenPartitionHasAllItsTriesAgain) {
    assignment_.assigned(partition_);
    for (int i = 1; i < ReadAttempts::at_most; ++i) assignment_.read_failed(partition_, Offset{9});
    EXPECT_EQ(assignment_.read_failed(partition_, Offset{9}), ReadAttempts::Verdict::halt);
    assignment_.halt(partition_, {HaltReason::unreadable, "checksum"}, now_, 0ms);
    assignment_.wake(partition_);
    EXPECT_EQ(assignment_.read_failed(partition_, Offset{9}), ReadAttempts::Verdict::again);
}

TEST_F(AssignmentTest, TheReasonOfTheLastHaltStaysUntilSomethingIsCommitted) {
    assignment_.assigned(partition_);
    delay_after_halt(1s);
    assignment_.wake(partition_);
    read_from(7);
    EXPECT_EQ(assignment_.find(partition_)->trouble.text, "why");
    assignment_.committed(partition_);
    EXPECT_EQ(assignment_.find(partition_)->trouble.text, "");
}

TEST_F(AssignmentTest, JitterAddsUpToHalf) {
    assignment_.assigned(partition_);
    assignment_.missed(partition_, now_, 1.0);
    EXPECT_EQ(assignment_.find(partition_)->not_before, now_ + 1500ms);
}

TEST_F(AssignmentTest, ACommitBeginsThePausesAnew) {
    assignment_.assigned(partition_);
    pause_after_missing();
    pause_after_missing();
    read_from(0);
    assignment_.committed(partition_);
    EXPECT_EQ(pause_after_missing(), 1000ms);
}

TEST_F(AssignmentTest, AMissedFenceIsNotTakenBeforeItsPauseIsOver) {
    assignment_.assigned(partition_);
    pause_after_missing();
    EXPECT_EQ(assignment_.next_take_over(now_ + 999ms), std::nullopt);
    EXPECT_EQ(assignment_.next_due(), now_ + 1000ms);
    EXPECT_EQ(assignment_.next_take_over(now_ + 1000ms), partition_);
}

TEST_F(AssignmentTest, AHaltedPartitionIsTriedAgainMoreAndMoreSlowly) {
    assignment_.assigned(partition_);
    EXPECT_EQ(delay_after_halt(30s), 30s);
    EXPECT_EQ(assignment_.next_take_over(now_ + 1h), std::nullopt);
    EXPECT_TRUE(assignment_.due_retries(now_ + 29s).empty());
    EXPECT_EQ(assignment_.due_retries(now_ + 30s).size(), 1U);
    assignment_.wake(partition_);
    EXPECT_EQ(assignment_.next_take_over(now_), partition_);
    EXPECT_EQ(delay_after_halt(30s), 60s);
    for (int i = 0; i < 10; ++i) delay_after_halt(30s);
    EXPECT_EQ(delay_after_halt(30s), 10min);
    assignment_.committed(partition_);
    EXPECT_EQ(delay_after_halt(30s), 30s);
}

TEST_F(AssignmentTest, AHaltWithoutARetryWaitsForAHand) {
    assignment_.assigned(partition_);
    assignment_.halt(partition_, {HaltReason::failed, "why"}, now_, 0ms);
    EXPECT_TRUE(assignment_.due_retries(now_ + 24h).empty());
    EXPECT_EQ(assignment_.next_due(), std::nullopt);
}

TEST_F(AssignmentTest, AReconnectTakesEveryFenceAgainButLeavesHaltedOnesAlone) {
    const TopicPartition other{"topic", Partition{1}};
    assignment_.assigned(partition_);
    assignment_.assigned(other);
    read_from(0);
    assignment_.halt(other, {HaltReason::failed, "why"}, now_, 0ms);
    assignment_.retake_all();
    EXPECT_EQ(assignment_.with_phase(PartitionPhase::wants_fence), std::vector{partition_});
    EXPECT_EQ(assignment_.with_phase(PartitionPhase::halted), std::vector{other});
}

TEST_F(AssignmentTest, NothingMovesAHaltedPartitionButAHandOrItsTime) {
    assignment_.assigned(partition_);
    assignment_.halt(partition_, {HaltReason::failed, "why"}, now_, 0ms);
    assignment_.missed(partition_, now_, 0);
    assignment_.out_of_range(partition_);
    assignment_.sought(partition_, Offset{0});
    EXPECT_EQ(assignment_.find(partition_)->phase, PartitionPhase::halted);
}

TEST_F(AssignmentTest, WhatIsToBeAskedAnewGrowsWithAssignmentsAndRangeErrors) {
    const auto before = assignment_.changes();
    assignment_.assigned(partition_);
    EXPECT_GT(assignment_.changes(), before);
    read_from(3);
    const auto reading = assignment_.changes();
    assignment_.out_of_range(partition_);
    EXPECT_GT(assignment_.changes(), reading);
    EXPECT_TRUE(assignment_.find(partition_)->out_of_range);
    assignment_.taken(partition_, fence(3));
    EXPECT_FALSE(assignment_.find(partition_)->out_of_range);
}

TEST_F(AssignmentTest, SeeksToARefusedOffsetAreCountedUntilThePartitionMovesOn) {
    assignment_.assigned(partition_);
    EXPECT_EQ(assignment_.seeks_again(partition_), 0);
    read_from(3);
    EXPECT_EQ(assignment_.seeks_again(partition_), 1);
    assignment_.committed(partition_);
    EXPECT_EQ(assignment_.seeks_again(partition_), 0);
}

// Otherwise the partition would halt again, whatever offset an operator gave its fence.
TEST_F(AssignmentTest, APartitionThatWakesIsNoLongerOutOfRange) {
    assignment_.assigned(partition_);
    read_from(3);
    assignment_.out_of_range(partition_);
    for (int seeks = 0; seeks <= seeks_at_most; ++seeks) assignment_.seeks_again(partition_);
    assignment_.halt(partition_, {HaltReason::log_cut, "why"}, now_, 0ms);
    assignment_.wake(partition_);
    EXPECT_FALSE(assignment_.find(partition_)->out_of_range);
    EXPECT_EQ(assignment_.seeks_again(partition_), 0);
}

TEST_F(AssignmentTest, WhatWasRevokedIsForgotten) {
    assignment_.assigned(partition_);
    pause_after_missing();
    assignment_.revoked(partition_);
    EXPECT_FALSE(assignment_.holds(partition_));
    assignment_.taken(partition_, fence(0));
    assignment_.missed(partition_, now_, 0);
    EXPECT_FALSE(assignment_.holds(partition_));
    assignment_.assigned(partition_);
    EXPECT_EQ(assignment_.next_take_over(now_), partition_);
}

TEST_F(AssignmentTest, APausedTopicIsNotReadUntilItIsResumedAndThenFromItsFence) {
    const TopicPartition other{"other", Partition{0}};
    assignment_.assigned(partition_);
    assignment_.assigned(other);
    read_from(0);
    const auto change = assignment_.set_paused({{"topic", "why"}});
    EXPECT_EQ(change.paused, std::vector<std::string>{"topic"});
    EXPECT_EQ(assignment_.with_phase(PartitionPhase::paused), std::vector{partition_});
    EXPECT_EQ(assignment_.find(partition_)->pause, "why");
    EXPECT_EQ(assignment_.next_take_over(now_), other);
    EXPECT_TRUE(assignment_.set_paused({{"topic", "why"}}).paused.empty()) << "said once";
    EXPECT_EQ(assignment_.set_paused({}).resumed, std::vector<std::string>{"topic"});
    EXPECT_EQ(assignment_.find(partition_)->phase, PartitionPhase::wants_fence);
}

TEST_F(AssignmentTest, NothingMovesAPausedPartition) {
    assignment_.set_paused({{"topic", "why"}});
    assignment_.assigned(partition_);
    const auto still_paused = [&] {
        return assignment_.with_phase(PartitionPhase::paused) == std::vector{partition_};
    };
    EXPECT_TRUE(still_paused());
    assignment_.retake_all();
    EXPECT_TRUE(still_paused());
    assignment_.missed(partition_, now_, 0);
    EXPECT_TRUE(still_paused());
    assignment_.out_of_range(partition_);
    EXPECT_TRUE(still_paused());
    assignment_.wake(partition_);
    EXPECT_TRUE(still_paused());
}

TEST_F(AssignmentTest, AHaltedPartitionOfAPausedTopicStaysHaltedAndIsPausedWhenItWakes) {
    assignment_.assigned(partition_);
    assignment_.halt(partition_, {HaltReason::failed, "why"}, now_, 1s);
    assignment_.set_paused({{"topic", "asked for"}});
    EXPECT_EQ(assignment_.find(partition_)->phase, PartitionPhase::halted);
    assignment_.wake(partition_);
    EXPECT_EQ(assignment_.find(partition_)->phase, PartitionPhase::paused);
}

TEST_F(AssignmentTest, APartitionThatWaitsIsNotReadBeforeItsTimeAndThenFromItsFence) {
    assignment_.assigned(partition_);
    read_from(0);
    assignment_.wait(partition_, now_ + 5s);
    EXPECT_FALSE(assignment_.reading(partition_));
    assignment_.retake_all();
    EXPECT_EQ(assignment_.next_take_over(now_ + 4s), std::nullopt);
    EXPECT_EQ(assignment_.next_due(), now_ + 5s);
    EXPECT_EQ(assignment_.next_take_over(now_ + 5s), partition_);
    read_from(0);
    EXPECT_TRUE(assignment_.reading(partition_));
}

TEST_F(AssignmentTest, AFenceThatIsTakenForAPartitionThatIsReadIsRefusedAndReported) {
    std::vector<std::string> refused;
    Assignment assignment({1000ms, 5000ms}, [&](const TopicPartition& partition,
                                                PartitionPhase phase, PartitionEvent event) {
        refused.push_back(partition.topic + " " + std::string(partition_machine.text(phase)) + " " +
                          std::string(partition_machine.text(event)));
    });
    assignment.assigned(partition_);
    assignment.taken(partition_, fence(7));
    assignment.sought(partition_, Offset{7});
    assignment.taken(partition_, fence(9));
    EXPECT_EQ(refused, std::vector<std::string>{"topic reading fence_taken"});
    EXPECT_TRUE(assignment.reading(partition_));
    EXPECT_EQ(assignment.find(partition_)->fence.next_offset, Offset{7});
}

}  // namespace
}  // namespace onceward
