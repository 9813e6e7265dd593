#include "dedup/base/backoff.h"

#include <gtest/gtest.h>

namespace onceward {
namespace {

using namespace std::chrono_literals;

TEST(BackoffTest, APauseDoublesWithEachFailureUpToTheLongest) {
    const Backoff backoff{.first = 50ms, .longest = 300ms};
    EXPECT_EQ(backoff.whole(0), 50ms);
    EXPECT_EQ(backoff.whole(1), 50ms);
    EXPECT_EQ(backoff.whole(2), 100ms);
    EXPECT_EQ(backoff.whole(3), 200ms);
    EXPECT_EQ(backoff.whole(4), 300ms);
    EXPECT_EQ(backoff.whole(1'000'000), 300ms);
}

TEST(BackoffTest, ALongestPauseOfHoursDoesNotOverflow) {
    const Backoff backoff{.first = 10h, .longest = std::chrono::milliseconds::max()};
    EXPECT_EQ(backoff.whole(3), 40h);
    EXPECT_EQ(backoff.whole(64), backoff.whole(65));
    EXPECT_GT(backoff.whole(64), 0ms);
}

TEST(BackoffTest, ChanceStaysWithinItsShare) {
    const Backoff backoff{.first = 1000ms, .longest = 1000ms, .least = 0.75, .most = 1.25};
    EXPECT_EQ(backoff.after(1, 0.0), 750ms);
    EXPECT_EQ(backoff.after(1, 0.5), 1000ms);
    EXPECT_EQ(backoff.after(1, 1.0), 1250ms);
}

TEST(BackoffTest, ARollIsFromZeroToOne) {
    for (int i = 0; i < 1000; ++i) {
        const double number = roll();
        ASSERT_GE(number, 0.0);
        ASSERT_LE(number, 1.0);
    }
}

}  // namespace
}  // namespace onceward
