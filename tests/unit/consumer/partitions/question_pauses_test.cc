#include "consumer/partitions/question_pauses.h"

#include <gtest/gtest.h>

namespace onceward {
namespace {

using namespace std::chrono_literals;

class QuestionPausesTest : public testing::Test {
  protected:
    QuestionPauses pauses_{10s};
    QuestionPauses::Clock::time_point now_{1h};
};

TEST_F(QuestionPausesTest, AFailureIsFollowedByAShortPauseAndOthersByLongerOnes) {
    EXPECT_TRUE(pauses_.may_ask("orders", now_));
    for (const auto pause : {1s, 2s, 4s, 8s, 10s, 10s}) {
        pauses_.failed("orders", now_, 10ms);
        EXPECT_FALSE(pauses_.may_ask("orders", now_ + pause - 1ms));
        now_ += pause;
        EXPECT_TRUE(pauses_.may_ask("orders", now_));
    }
}

TEST_F(QuestionPausesTest, AnAnswerEndsTheRowOfFailures) {
    pauses_.failed("orders", now_, 10ms);
    pauses_.failed("orders", now_, 10ms);
    pauses_.answered("orders");
    EXPECT_TRUE(pauses_.may_ask("orders", now_));
    pauses_.failed("orders", now_, 10ms);
    EXPECT_TRUE(pauses_.may_ask("orders", now_ + 1s));
}

TEST_F(QuestionPausesTest, ATopicThatFailsAtOnceDoesNotDelayAnother) {
    pauses_.failed("orders", now_, 10ms);
    EXPECT_TRUE(pauses_.may_ask("visits", now_));
}

TEST_F(QuestionPausesTest, AFailureThatTookLongPausesAllTopicsForThreeTimesAsLong) {
    pauses_.failed("orders", now_, 2s);
    EXPECT_FALSE(pauses_.may_ask("visits", now_ + 6s - 1ms));
    EXPECT_TRUE(pauses_.may_ask("visits", now_ + 6s));
    pauses_.answered("orders");
    EXPECT_FALSE(pauses_.may_ask("orders", now_)) << "the next partition may take as long";
}

TEST_F(QuestionPausesTest, NoPauseOfAllTopicsIsLongerThanTheLongestOfOne) {
    pauses_.failed("orders", now_, 5s);
    EXPECT_FALSE(pauses_.may_ask("visits", now_ + 10s - 1ms));
    EXPECT_TRUE(pauses_.may_ask("visits", now_ + 10s));
}

}  // namespace
}  // namespace onceward
