#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "consumer/writing/failure_response.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using Clock = TopicSpacing::Clock;

const Clock::time_point start{1h};

TEST(TopicSpacingTest, ATopicWaitsThreeTimesAsLongAsItsTryTook) {
    TopicSpacing aside;
    EXPECT_EQ(aside.next_try(start, 4s, 50ms), start + 12s);
}

TEST(TopicSpacingTest, TheWaitHasALeastAndALongestLength) {
    TopicSpacing aside;
    EXPECT_EQ(aside.next_try(start, 1ms, 50ms), start + 50ms);
    EXPECT_EQ(TopicSpacing().next_try(start, 20s, 50ms), start + 30s);
}

TEST(TopicSpacingTest, OneTopicAloneInTroubleNeverWaitsLongerThanThat) {
    TopicSpacing aside;
    Clock::time_point now = start;
    for (int i = 0; i < 10; ++i) {
        const auto next = aside.next_try(now, 10s, 50ms);
        EXPECT_EQ(next, now + 30s);
        now = next + 10s;
    }
}

// A topic that met one short deadlock is not put after another one's locked table.
TEST(TopicSpacingTest, AShortTryWaitsForNoOtherTopic) {
    TopicSpacing aside;
    aside.next_try(start, 10s, 50ms);
    EXPECT_EQ(aside.next_try(start, 100ms, 50ms), start + 300ms);
}

TEST(TopicSpacingTest, ManyTopicsInTroubleLeaveTheOthersThreeQuartersOfTheTime) {
    TopicSpacing aside;
    constexpr auto tried = 10s;
    std::vector<Clock::time_point> due(6, start);
    Clock::time_point now = start;
    Clock::duration busy{};
    while (now < start + 30min) {
        const auto next = std::ranges::min_element(due);
        now = std::max(now, *next) + tried;
        busy += tried;
        *next = aside.next_try(now, tried, 50ms);
    }
    // The first round comes before anything is known of the six.
    EXPECT_LE(busy - due.size() * tried, (now - start) / 4);
    EXPECT_LT(*std::ranges::max_element(due), now + due.size() * 40s + 1s);
}

}  // namespace
}  // namespace onceward
