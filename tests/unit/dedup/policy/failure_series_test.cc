#include <gtest/gtest.h>

#include "dedup/policy/failure.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

PostgresError failure(const std::string& sqlstate) {
    PostgresError::Diagnosis diagnosis;
    diagnosis.sqlstate = sqlstate;
    return PostgresError(diagnosis);
}

constexpr Backoff no_chance{.first = 10ms, .longest = 60ms};

TEST(FailureSeriesTest, TheSameSqlstateInARowIsCountedAndAnotherOneBeginsAgain) {
    FailureSeries series(no_chance);
    series.met(failure("40001"), Origin::ours);
    EXPECT_EQ(series.repeated(), 0);
    series.met(failure("40001"), Origin::ours);
    series.met(failure("40001"), Origin::ours);
    EXPECT_EQ(series.repeated(), 2);
    series.met(failure("55P03"), Origin::ours);
    EXPECT_EQ(series.repeated(), 0);
    EXPECT_EQ(series.failures(), 4);
}

TEST(FailureSeriesTest, WhatAFailureMeansDependsOnThoseBeforeIt) {
    FailureSeries series(no_chance);
    const FailureAction first = series.met(failure("53200"), Origin::ours);
    EXPECT_EQ(first, classify(failure("53200").diagnosis(), Origin::ours, 0));
    FailureAction last = first;
    for (int i = 0; i < 20; ++i) last = series.met(failure("53200"), Origin::ours);
    EXPECT_EQ(last, classify(failure("53200").diagnosis(), Origin::ours, 20));
}

TEST(FailureSeriesTest, PausesGrowUntilTheSeriesEnds) {
    FailureSeries series(no_chance);
    series.met(failure("40001"), Origin::ours);
    EXPECT_EQ(series.pause(), 10ms);
    series.met(failure("55P03"), Origin::ours);
    EXPECT_EQ(series.pause(), 20ms);
    for (int i = 0; i < 5; ++i) series.met(failure("40001"), Origin::ours);
    EXPECT_EQ(series.pause(), 60ms);
    series.ended();
    series.met(failure("40001"), Origin::ours);
    EXPECT_EQ(series.pause(), 10ms);
    EXPECT_EQ(series.repeated(), 0);
}

TEST(FailureSeriesTest, AForgivenRepetitionIsCountedFromTheBeginning) {
    FailureSeries series(no_chance);
    for (int i = 0; i < 5; ++i) series.met(failure("57014"), Origin::sink);
    series.forgive();
    EXPECT_EQ(series.repeated(), 0);
    series.met(failure("57014"), Origin::sink);
    EXPECT_EQ(series.repeated(), 1);
}

}  // namespace
}  // namespace onceward
