// Take-overs that fail: the brokers do not answer, or the fence is locked.

#include "tests/unit/consumer/partitions/assignment_fixture.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

class FailedTakeOver : public AssignmentFixture {};

// The brokers gave no answer. The question takes seconds, in which no batch runs.
TEST_F(FailedTakeOver, AFailedTakeOverPausesAllOthersUntilItSucceeds) {
    const TopicPartition other{"visits", Partition{0}};
    const TopicPartition third{"visits", Partition{1}};
    for (const TopicPartition& one : {partition_, other, third}) assignment_.assigned(one);
    EXPECT_EQ(assignment_.take_over_failed(partition_, now_, 5s, 1), now_ + 1s);
    EXPECT_EQ(assignment_.next_take_over(now_ + 999ms), std::nullopt);
    EXPECT_EQ(assignment_.next_due(), now_ + 1s);
    EXPECT_EQ(assignment_.next_take_over(now_ + 1s), other);
    assignment_.taken(other, fence(0));
    EXPECT_EQ(assignment_.next_take_over(now_), std::nullopt) << "it need not have asked them";
    EXPECT_EQ(assignment_.take_over_failed(partition_, now_, 5s, 1), now_ + 20s);
    assignment_.taken(partition_, fence(0));
    EXPECT_EQ(assignment_.next_take_over(now_), third) << "they answer again";
}

TEST_F(FailedTakeOver, PartitionsWhoseTakeOversGetNoAnswerDoNotKeepAnotherOneWaiting) {
    const TopicPartition away{"topic", Partition{1}};
    const TopicPartition healthy{"topic", Partition{2}};
    for (const TopicPartition& one : {partition_, away, healthy}) assignment_.assigned(one);
    auto now = now_;
    for (const TopicPartition& one : {partition_, away}) {
        ASSERT_EQ(assignment_.next_take_over(now), one);
        assignment_.take_over_failed(one, now, 5s, 1);
        now += 1h;
    }
    EXPECT_EQ(assignment_.next_take_over(now), healthy) << "however late it is asked";
    assignment_.taken(healthy, fence(0));
    EXPECT_EQ(assignment_.next_take_over(now), partition_);
}

// The first take-over of a topic asks about all its partitions, so it fails for each of them.
TEST_F(FailedTakeOver, OtherTopicsComeBeforeTheOthersOfATopicThatGotNoAnswer) {
    const TopicPartition other{"visits", Partition{0}};
    assignment_.assigned(other);
    for (const int number : {0, 1, 2}) assignment_.assigned({"topic", Partition{number}});
    ASSERT_EQ(assignment_.next_take_over(now_), partition_);
    assignment_.take_over_failed(partition_, now_, 5s, 1);
    EXPECT_EQ(assignment_.next_take_over(now_ + 1h), other);
}

TEST_F(FailedTakeOver, FailedTakeOversLeaveMostOfTheTimeToThePartitionsThatAreRead) {
    const TopicPartition healthy{"visits", Partition{0}};
    assignment_.assigned(healthy);
    assignment_.taken(healthy, fence(0));
    for (const int number : {0, 1, 2, 3}) assignment_.assigned({"away", Partition{number}});
    std::chrono::milliseconds batches{};
    for (auto now = now_; now < now_ + 10min;) {
        if (const auto partition = assignment_.next_take_over(now)) {
            now += 5s;
            assignment_.take_over_failed(*partition, now, 5s, 0);
        } else {
            now += 100ms;
            batches += 100ms;
        }
    }
    EXPECT_GE(batches, 7min);
}

// The brokers do not say where a new topic begins, since one of its partitions has no leader. Each
// take-over asks the same question.
TEST_F(FailedTakeOver, ANewTopicThatGetsNoAnswerTakesAFifthOfTheTimeHoweverManyPartitionsItHas) {
    assignment_.assigned(partition_);
    read_from(0);
    for (int number = 0; number < 20; ++number) assignment_.assigned({"new", Partition{number}});
    std::chrono::milliseconds blocked{};
    auto now = now_;
    while (now < now_ + 10min) {
        if (const auto partition = assignment_.next_take_over(now)) {
            now += 5s;
            blocked += 5s;
            assignment_.take_over_failed(*partition, now, 5s, 0);
        } else {
            EXPECT_GT(assignment_.next_due(), now);
            now += 100ms;
        }
    }
    EXPECT_LE(5 * blocked, now - now_);
}

// Each of them got no answer while all brokers were away. Later only the new topic gets none.
TEST_F(FailedTakeOver, ANewTopicThatGetsNoAnswerDoesNotHaveAllItsTriesBeforeAnotherTopicsNextOne) {
    const TopicPartition other{"visits", Partition{0}};
    assignment_.assigned(other);
    for (int number = 0; number < 10; ++number) assignment_.assigned({"new", Partition{number}});
    assignment_.take_over_failed(other, now_, 5s, 0);
    assignment_.take_over_failed({"new", Partition{0}}, now_, 5s, 0);
    int tries = 0;
    for (auto now = now_ + 1h; assignment_.next_take_over(now) != other; now += 1h) {
        ASSERT_LT(++tries, 3);
        assignment_.take_over_failed(*assignment_.next_take_over(now), now, 5s, 0);
    }
}

// Its other partitions have fences, so that their take-overs may not ask at all.
TEST_F(FailedTakeOver, OfATopicWithAFenceOnlyThePartitionThatGotNoAnswerHasTheLongPause) {
    const TopicPartition added{"topic", Partition{1}};
    const TopicPartition away{"topic", Partition{2}};
    for (const TopicPartition& one : {partition_, added, away}) assignment_.assigned(one);
    read_from(0);
    EXPECT_EQ(assignment_.take_over_failed(away, now_, 5s, 1), now_ + 20s);
    EXPECT_EQ(assignment_.next_take_over(now_ + 5s), added);
}

// Otherwise each lost session of PostgreSQL would begin the questions again.
TEST_F(FailedTakeOver, ThePauseAfterAFailedTakeOverOutlivesTheSession) {
    assignment_.assigned(partition_);
    assignment_.take_over_failed(partition_, now_, 5s, 1);
    assignment_.retake_all();
    EXPECT_EQ(assignment_.next_take_over(now_ + 999ms), std::nullopt);
    EXPECT_EQ(assignment_.next_take_over(now_ + 1s), partition_);
}

}  // namespace
}  // namespace onceward
