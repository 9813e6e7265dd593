#include <gtest/gtest.h>

#include "dedup/retention/watermark.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

const WatermarkSampler::Moment origin{};
const WallTime noon{std::chrono::seconds(1'700'000'000)};
const ClockReading clocks{noon, noon};

TEST(WatermarkSampler, WritesTheClockOnceTheFenceHasReachedTheEnd) {
    WatermarkSampler sampler(10s);
    EXPECT_EQ(sampler.sampled(origin, clocks, Offset{100}, Offset{90}), Sampling::kept);
    EXPECT_FALSE(sampler.fence_at(Offset{99}));
    const auto write = sampler.fence_at(Offset{100});
    ASSERT_TRUE(write);
    EXPECT_EQ(write->moment, noon);
    EXPECT_EQ(write->end, Offset{100});
    EXPECT_FALSE(sampler.fence_at(Offset{101})) << "the same sample was written twice";
}

TEST(WatermarkSampler, AnIdlePartitionIsAtItsEndAtOnce) {
    WatermarkSampler sampler(10s);
    EXPECT_EQ(sampler.sampled(origin, clocks, Offset{7}, Offset{7}), Sampling::kept);
    EXPECT_TRUE(sampler.fence_at(Offset{7}));
}

TEST(WatermarkSampler, TakesNoSecondSampleWhileOneWaits) {
    WatermarkSampler sampler(10s);
    EXPECT_TRUE(sampler.wants_sample(origin));
    sampler.sampled(origin, clocks, Offset{100}, Offset{90});
    EXPECT_FALSE(sampler.wants_sample(origin + 1h));
    // A later sample would move the end away before the fence ever gets there.
    EXPECT_EQ(sampler.sampled(origin + 1h, clocks, Offset{200}, Offset{95}), Sampling::waiting);
    EXPECT_TRUE(sampler.fence_at(Offset{100}));
}

TEST(WatermarkSampler, WaitsBetweenTwoSamples) {
    WatermarkSampler sampler(10s);
    sampler.sampled(origin, clocks, Offset{1}, Offset{1});
    EXPECT_TRUE(sampler.fence_at(Offset{1}));
    EXPECT_FALSE(sampler.wants_sample(origin + 9s));
    EXPECT_TRUE(sampler.wants_sample(origin + 10s));
}

TEST(WatermarkSampler, NoClockCountsWhileTheTwoDifferByMoreThanAMinute) {
    for (const auto step : {-60s - 1us, 60s + 1us}) {
        WatermarkSampler sampler(10s);
        EXPECT_EQ(sampler.sampled(origin, {noon + step, noon}, Offset{5}, Offset{5}),
                  Sampling::clocks_differ);
        EXPECT_FALSE(sampler.fence_at(Offset{5}));
    }
    WatermarkSampler sampler(10s);
    EXPECT_EQ(sampler.sampled(origin, {noon + 60s, noon}, Offset{5}, Offset{5}), Sampling::kept);
}

TEST(WatermarkSampler, AnEndBelowTheFenceIsOutOfRangeAndNoSample) {
    WatermarkSampler sampler(10s);
    EXPECT_EQ(sampler.sampled(origin, clocks, Offset{4}, Offset{5}), Sampling::out_of_range);
    EXPECT_FALSE(sampler.fence_at(Offset{5}));
}

}  // namespace
}  // namespace onceward
