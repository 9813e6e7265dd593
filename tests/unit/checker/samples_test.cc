// I2 and I13, as they are sampled.

#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/faults/checker/process_usage.h"
#include "tests/faults/checker/samplers.h"

namespace onceward::checker {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST(OffsetSamples, I2FindAKafkaOffsetBeyondTheFence) {
    Evidence evidence;
    evidence.topics = {{.name = "payments"}};
    const std::vector<OffsetSample> right{{{0, 0}, 5, 5}, {{0, 1}, 4, 5}};
    EXPECT_THAT(check_offset_samples(evidence, right), IsEmpty());
    const std::vector<OffsetSample> wrong{{{0, 0}, 5, 5}, {{0, 1}, 6, 5}};
    const Violations found = check_offset_samples(evidence, wrong);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].invariant, "I2");
    EXPECT_EQ(found[0].where, std::vector<std::string>{"payments/1: committed 6, fence 5"});
    evidence.settings.committed_offset_moved = true;
    EXPECT_THAT(check_offset_samples(evidence, wrong), IsEmpty());
}

// A process that is checked for three minutes, with one number that grows to `last`.
std::vector<ResourceSample> three_minutes(std::int64_t ResourceSample::*member, std::int64_t last,
                                          int pid = 7) {
    std::vector<ResourceSample> samples;
    for (int second = 0; second <= 180; second += 10) {
        ResourceSample sample{.pid = pid, .at_ms = second * 1000};
        sample.*member = second < 120 ? 10 : last;
        samples.push_back(sample);
    }
    return samples;
}

TEST(ResourceSamples, I13FindGrowthBeyondTheBudget) {
    const Budgets budgets{.rss_kib = 100, .fds = 5, .threads = 2, .connections = 1};
    EXPECT_THAT(check_resources(three_minutes(&ResourceSample::rss_kib, 110), budgets), IsEmpty());
    EXPECT_THAT(check_resources(three_minutes(&ResourceSample::rss_kib, 111), budgets), SizeIs(1));
    EXPECT_THAT(check_resources(three_minutes(&ResourceSample::fds, 15), budgets), IsEmpty());
    EXPECT_THAT(check_resources(three_minutes(&ResourceSample::fds, 16), budgets), SizeIs(1));
    EXPECT_THAT(check_resources(three_minutes(&ResourceSample::threads, 12), budgets), IsEmpty());
    EXPECT_THAT(check_resources(three_minutes(&ResourceSample::threads, 13), budgets), SizeIs(1));
    EXPECT_THAT(check_resources(three_minutes(&ResourceSample::connections, 11, 0), budgets),
                IsEmpty());
    const Violations found =
        check_resources(three_minutes(&ResourceSample::connections, 12, 0), budgets);
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].invariant, "I13");
    EXPECT_EQ(found[0].where, std::vector<std::string>{"a worker: connections 10 to 12"});
}

TEST(ResourceSamples, TakeABurstForNoLeak) {
    std::vector<ResourceSample> samples = three_minutes(&ResourceSample::fds, 10);
    samples[15].fds = 1000;
    EXPECT_THAT(check_resources(samples, {}), IsEmpty());
}

TEST(ResourceSamples, SayNothingOfAProcessThatWasHardlySeen) {
    std::vector<ResourceSample> samples = three_minutes(&ResourceSample::fds, 1000);
    samples.erase(samples.begin(), samples.end() - 5);
    samples[0].fds = 0;
    EXPECT_THAT(check_resources(samples, {}), IsEmpty());
}

TEST(ProcessUsage, IsThatOfAProcessThatLives) {
    const auto usage = usage_of(getpid());
    ASSERT_TRUE(usage);
    EXPECT_GT(usage->rss_kib, 1000);
    EXPECT_GE(usage->fds, 3);
    EXPECT_GE(usage->threads, 1);
    EXPECT_FALSE(usage_of(0));
}

}  // namespace
}  // namespace onceward::checker
