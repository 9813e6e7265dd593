#include "lab/bench/schedule.h"

#include <gtest/gtest.h>

namespace onceward::bench {
namespace {

using namespace std::chrono_literals;

const Schedule::Time begin = Schedule::Time{} + 490'000h;

TEST(Schedule, MessagesAreDueAtTheirRateFromTheBeginOn) {
    const Schedule schedule(begin, 1000);
    EXPECT_EQ(schedule.due(0), begin);
    EXPECT_EQ(schedule.due(1), begin + 1ms);
    EXPECT_EQ(schedule.due(60'000), begin + 1min);
    EXPECT_EQ(schedule.due_by(begin - 1ns), 0);
    EXPECT_EQ(schedule.due_by(begin - 1h), 0);
    EXPECT_EQ(schedule.due_by(begin), 1);
    EXPECT_EQ(schedule.due_by(begin + 1ms - 1ns), 1);
    EXPECT_EQ(schedule.due_by(begin + 1ms), 2);
}

TEST(Schedule, WhatASenderMissedWhileItWasHeldUpIsDueAtOnceAndKeepsItsTime) {
    const Schedule schedule(begin, 25'000);
    const std::int64_t before = schedule.due_by(begin + 1s);
    const std::int64_t after = schedule.due_by(begin + 3s);
    EXPECT_EQ(after - before, 50'000);
    EXPECT_EQ(schedule.due(before), begin + 1s + 40us);
}

TEST(Schedule, EachMessageFallsIntoExactlyOneSliceAtRatesThatDivideNothing) {
    for (const double rate : {7.0, 24'882.3, 199'056.7}) {
        const Schedule schedule(begin, rate);
        std::int64_t sent = 0;
        for (Schedule::Time now = begin; now < begin + 2s; now += 999'983ns) {
            const std::int64_t due = schedule.due_by(now);
            ASSERT_GE(due, sent);
            ASSERT_LE(schedule.due(due - 1), now);
            ASSERT_GT(schedule.due(due), now);
            sent = due;
        }
    }
}

}  // namespace
}  // namespace onceward::bench
