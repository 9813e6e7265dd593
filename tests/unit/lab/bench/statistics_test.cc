#include "lab/bench/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <utility>

#include "lab/bench/format.h"
#include "lab/bench/measurement.h"

namespace onceward::bench {
namespace {

TEST(Statistics, TheMedianIsTheMiddleOrTheMeanOfTheTwoThere) {
    EXPECT_EQ(summarize({3, 1, 2}), (Summary{1, 2, 3}));
    EXPECT_EQ(summarize({4, 1, 3, 2}), (Summary{1, 2.5, 4}));
    EXPECT_EQ(summarize({7}), (Summary{7, 7, 7}));
    EXPECT_THROW(summarize({}), std::invalid_argument);
}

TEST(Statistics, APercentileIsTheNearestRank) {
    std::vector<double> values;
    for (int i = 100; i > 0; --i) values.push_back(i);
    EXPECT_EQ(percentile(values, 0.5), 50);
    EXPECT_EQ(percentile(values, 0.99), 99);
    EXPECT_EQ(percentile(values, 1), 100);
    EXPECT_EQ(percentile({5, 9}, 0.001), 5);
    EXPECT_THROW(percentile({}, 0.5), std::invalid_argument);
}

// The machine was half as fast in the second pair: medians of the rates would say 0.6.
TEST(Statistics, ARatioIsTakenWithinItsPair) {
    const std::vector<double> of{80, 40, 60};
    const std::vector<double> against{100, 50, 100};
    EXPECT_EQ(ratio(of, against), (Summary{0.6, 0.8, 0.8}));
    EXPECT_THROW(ratio(of, std::vector<double>{1}), std::invalid_argument);
}

TEST(Statistics, ALineHasTheMediansOfItsRunsForAMillionMessages) {
    std::vector<Measurement> runs;
    for (const auto& [seconds, cpu] : {std::pair{1.0, 0.9}, {2.0, 0.7}, {4.0, 0.5}}) {
        Measurement run;
        run.messages = 1'000;
        run.wal_bytes = 5'000;
        run.seconds = seconds;
        run.cpu.worker = cpu;
        runs.push_back(run);
    }
    const Line made = line("name", runs);
    EXPECT_EQ(made.rate, (Summary{250, 500, 1'000}));
    EXPECT_DOUBLE_EQ(made.cpu.worker, 700);
    EXPECT_DOUBLE_EQ(made.wal, 5);
}

TEST(Statistics, EachRunHasAPercentileOfItsOwn) {
    std::vector<Measurement> runs(2);
    for (int i = 1; i <= 100; ++i) {
        runs[0].times.commits.push_back(i);
        runs[1].times.commits.push_back(2 * i);
    }
    EXPECT_EQ(p99s(runs, &CommitTimes::commits), (std::vector<double>{99, 198}));
}

TEST(Statistics, NumbersAreForPeople) {
    EXPECT_EQ(grouped(1'000'000), "1,000,000");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(fixed(-1'234.56, 1), "-1,234.6");
    EXPECT_EQ(fixed(std::nan(""), 1), "-");
    EXPECT_EQ(three_digits(0.7512), "0.75");
    EXPECT_EQ(three_digits(72.46), "72.5");
    EXPECT_EQ(three_digits(123.4), "123");
}

}  // namespace
}  // namespace onceward::bench
