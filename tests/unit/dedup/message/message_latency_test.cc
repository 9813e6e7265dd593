#include "dedup/message/message_latency.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace onceward {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

LatencyHistogram latencies_of(const std::vector<std::optional<milliseconds>>& timestamps,
                              milliseconds now) {
    LatencyHistogram histogram;
    MessageLatencies latencies(histogram, now);
    for (const auto& timestamp : timestamps) latencies.add(timestamp);
    latencies.flush();
    return histogram;
}

std::int64_t count_of(const LatencyHistogram& histogram) {
    return std::accumulate(histogram.counts.begin(), histogram.counts.end(), std::int64_t{0});
}

TEST(MessageLatencyTest, EachMessageIsInTheFirstBucketThatItFits) {
    const auto histogram = latencies_of({1000ms, 1000ms, 900ms, 1000ms, 990ms}, 1000ms);
    EXPECT_EQ(count_of(histogram), 5);
    EXPECT_EQ(histogram.counts[0], 3);  // up to 5 ms
    EXPECT_EQ(histogram.counts[1], 1);  // 10 ms
    EXPECT_EQ(histogram.counts[4], 1);  // 100 ms
    EXPECT_DOUBLE_EQ(histogram.sum, 0.110);
}

TEST(MessageLatencyTest, ARunOfOneTimestampCountsAsOftenAsItsMessages) {
    const std::vector<std::optional<milliseconds>> same(5000, 500ms);
    const auto histogram = latencies_of(same, 1500ms);
    EXPECT_EQ(histogram.counts[7], 5000);  // up to 1 s
    EXPECT_DOUBLE_EQ(histogram.sum, 5000);
}

TEST(MessageLatencyTest, ARecordWithoutATimestampIsLeftOutAndOneInTheFutureIsNotNegative) {
    const auto histogram = latencies_of({std::nullopt, 2000ms, std::nullopt, 999ms}, 1000ms);
    EXPECT_EQ(count_of(histogram), 2);
    EXPECT_EQ(histogram.counts[0], 2);
    EXPECT_DOUBLE_EQ(histogram.sum, 0.001);
}

TEST(MessageLatencyTest, WhatIsOlderThanADayIsInTheLastBucket) {
    EXPECT_EQ(latencies_of({0ms}, std::chrono::hours(25)).counts.back(), 1);
}

}  // namespace
}  // namespace onceward
