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
        pauses_.failed("orders", now_);
        EXPECT_FALSE(pauses_.may_ask("orders", now_ + pause - 1ms));
        now_ += pause;
        EXPECT_TRUE(pauses_.may_ask("orders", now_));
    }
}

TEST_F(QuestionPausesTest, AnAnswerEndsTheRowOfFailures) {
    pauses_.failed("orders", now_);
    pauses_.failed("orders", now_);
    pauses_.answered("orders");
    EXPECT_TRUE(pauses_.may_ask("orders", now_));
    pauses_.failed("orders", now_);
    EXPECT_TRUE(pauses_.may_ask("orders", now_ + 1s));
}

TEST_F(QuestionPausesTest, ATopicThatFailsDoesNotDelayAnother) {
    pauses_.failed("orders", now_);
    EXPECT_TRUE(pauses_.may_ask("visits", now_));
}

}  // namespace
}  // namespace onceward
