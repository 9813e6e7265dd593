#include "lab/bench/targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace onceward::bench {
namespace {

using testing::ElementsAre;

TEST(Targets, TheProgramMeasuresWhatNeedsNoPeer) {
    EXPECT_THAT(measured_rows(),
                ElementsAre("1", "2", "3", "6", "7", "8", "9", "10", "11", "11b", "12", "13", "14",
                            "15", "16", "17", "18", "19", "21", "22", "23", "25"));
    EXPECT_THAT(measured_rows(true), ElementsAre("1", "2", "3", "4", "4b", "4c", "5", "6", "7", "8",
                                                 "9", "10", "11", "11b", "12", "13", "14", "15",
                                                 "16", "17", "18", "19", "21", "22", "23", "25"));
    EXPECT_EQ(targets_of("8").size(), 2U);
    EXPECT_TRUE(targets_of("99").empty());
}

TEST(Targets, NoGoalIsEasierThanItsFloor) {
    for (const Target& target : targets()) {
        EXPECT_TRUE(reached(target, target.goal)) << target.row << " " << target.name;
        // Two things of row 9 have a goal alone.
        EXPECT_TRUE(target.floor != target.goal || target.row == "9") << target.row;
    }
}

TEST(Targets, ALimitIsMetFromItsOwnSide) {
    const Target& rate = *targets_of("1").front();
    EXPECT_TRUE(reached(rate, 0.70));
    EXPECT_FALSE(reached(rate, 0.6999));
    EXPECT_FALSE(goal_reached(rate, 0.70));
    const Target& bytes = *targets_of("8")[1];
    EXPECT_TRUE(reached(bytes, 20));
    EXPECT_FALSE(reached(bytes, 20.1));
    EXPECT_TRUE(goal_reached(bytes, 0));
}

TEST(Targets, WhatIsNoNumberReachesNothing) {
    for (const Target& target : targets()) EXPECT_FALSE(reached(target, std::nan("")));
}

}  // namespace
}  // namespace onceward::bench
