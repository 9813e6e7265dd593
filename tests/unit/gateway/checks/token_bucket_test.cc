#include "gateway/checks/token_bucket.h"

#include <gtest/gtest.h>

namespace onceward {
namespace {

using namespace std::chrono_literals;

class TokenBucketTest : public ::testing::Test {
  protected:
    // How many of `tries` are let through at this time.
    int let_through(TokenBuckets& buckets, const std::string& name, int tries) {
        int passed = 0;
        for (int i = 0; i < tries; ++i) passed += buckets.take(name, now_) ? 0 : 1;
        return passed;
    }
    TokenBuckets::Clock::time_point now_{1000h};
};

TEST_F(TokenBucketTest, ABurstPassesAndThenTheRate) {
    TokenBuckets buckets({.per_second = 2, .burst = 5}, 10);
    EXPECT_EQ(let_through(buckets, "a", 10), 5);
    now_ += 1s;
    EXPECT_EQ(let_through(buckets, "a", 10), 2);
    now_ += 250ms;
    EXPECT_EQ(let_through(buckets, "a", 10), 0);
    now_ += 250ms;
    EXPECT_EQ(let_through(buckets, "a", 10), 1);
    now_ += 1h;
    EXPECT_EQ(let_through(buckets, "a", 10), 5);
}

TEST_F(TokenBucketTest, EachNameHasItsOwn) {
    TokenBuckets buckets({.per_second = 1, .burst = 1}, 10);
    EXPECT_EQ(let_through(buckets, "a", 2), 1);
    EXPECT_EQ(let_through(buckets, "b", 2), 1);
}

TEST_F(TokenBucketTest, WhoeverWaitsAsLongAsItSaysIsLetThrough) {
    for (const double rate : {0.1, 0.3, 1.0, 7.0}) {
        TokenBuckets buckets({.per_second = rate, .burst = 1}, 10);
        EXPECT_FALSE(buckets.take("a", now_));
        const auto wait = buckets.take("a", now_);
        ASSERT_TRUE(wait);
        EXPECT_GE(*wait, 1s);
        EXPECT_FALSE(buckets.take("a", now_ + *wait)) << rate;
    }
}

// Else one that asks without a pause would never be served.
TEST_F(TokenBucketTest, ARefusalCostsNothing) {
    TokenBuckets buckets({.per_second = 1, .burst = 1}, 10);
    EXPECT_EQ(let_through(buckets, "a", 100), 1);
    now_ += 1s;
    EXPECT_EQ(let_through(buckets, "a", 1), 1);
}

TEST_F(TokenBucketTest, TheNameOfTheLongestAgoIsForgotten) {
    TokenBuckets buckets({.per_second = 0.001, .burst = 1}, 2);
    EXPECT_EQ(let_through(buckets, "a", 1), 1);
    EXPECT_EQ(let_through(buckets, "b", 1), 1);
    EXPECT_EQ(let_through(buckets, "a", 1), 0);
    EXPECT_EQ(let_through(buckets, "c", 1), 1);  // b goes, a was asked for later
    EXPECT_EQ(buckets.names(), 2U);
    EXPECT_EQ(let_through(buckets, "a", 1), 0);
    EXPECT_EQ(let_through(buckets, "b", 1), 1);
    EXPECT_EQ(buckets.names(), 2U);
}

TEST_F(TokenBucketTest, ATimeThatGoesBackGivesNothing) {
    TokenBuckets buckets({.per_second = 1, .burst = 1}, 2);
    EXPECT_EQ(let_through(buckets, "a", 1), 1);
    now_ -= 1h;
    EXPECT_EQ(let_through(buckets, "a", 1), 0);
}

}  // namespace
}  // namespace onceward
