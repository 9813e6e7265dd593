#include <gtest/gtest.h>

#include "dedup/policy/topic_policy.h"

namespace onceward {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr RejectionWindow::Clock::time_point start{};
constexpr RejectPolicy policy{.cap_share = 0.5, .cap_window = seconds(60), .cap_minimum = 10};

TEST(RejectionWindow, BelowTheMinimumAnyShareIsAllowed) {
    RejectionWindow window(policy);
    EXPECT_FALSE(window.would_exceed(start, 9, 9));
    EXPECT_TRUE(window.would_exceed(start, 10, 10));
}

TEST(RejectionWindow, TheShareItselfIsAllowedAndOneMoreIsNot) {
    RejectionWindow window(policy);
    EXPECT_FALSE(window.would_exceed(start, 20, 10));
    EXPECT_TRUE(window.would_exceed(start, 20, 11));
}

TEST(RejectionWindow, WhatWasCommittedBeforeCounts) {
    RejectionWindow window(policy);
    window.record(start, 8, 8);
    EXPECT_FALSE(window.would_exceed(start + seconds(1), 1, 1));
    EXPECT_TRUE(window.would_exceed(start + seconds(1), 2, 2));
    window.record(start + seconds(1), 100, 0);
    EXPECT_FALSE(window.would_exceed(start + seconds(2), 2, 2));
}

TEST(RejectionWindow, ABatchWithoutARejectNeverHalts) {
    RejectionWindow window(policy);
    window.record(start, 50, 50);
    EXPECT_FALSE(window.would_exceed(start, 10, 0));
}

TEST(RejectionWindow, WhatIsOlderThanTheWindowIsForgotten) {
    RejectionWindow window(policy);
    window.record(start, 100, 100);
    EXPECT_TRUE(window.would_exceed(start + seconds(60), 1, 1));
    EXPECT_FALSE(window.would_exceed(start + seconds(60) + milliseconds(1), 1, 1));
}

TEST(RejectionWindow, EntriesOfOneSecondAreOneAndCountAllTheSame) {
    RejectionWindow window(policy);
    for (int i = 0; i < 9; ++i) window.record(start + milliseconds(i), 1, 1);
    EXPECT_TRUE(window.would_exceed(start + milliseconds(10), 1, 1));
}

TEST(RejectionWindow, AShareOfOneNeverHalts) {
    RejectionWindow window({.cap_share = 1.0, .cap_window = seconds(60), .cap_minimum = 1});
    EXPECT_FALSE(window.would_exceed(start, 1000, 1000));
}

}  // namespace
}  // namespace onceward
