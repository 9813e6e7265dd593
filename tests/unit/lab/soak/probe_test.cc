#include "lab/soak/probe.h"

#include <gtest/gtest.h>

namespace onceward::soak {
namespace {

const std::string metrics =
    "# HELP onceward_messages_total Messages.\n"
    "onceward_messages_total{topic=\"a\",outcome=\"applied\"} 90\n"
    "onceward_messages_total{topic=\"a\",outcome=\"duplicate\"} 10\n"
    "onceward_messages_total_of_another{outcome=\"applied\"} 7\n"
    "process_resident_memory_bytes 4096\n"
    "onceward_batch_duration_seconds_bucket{le=\"0.01\"} 50\n"
    "onceward_batch_duration_seconds_bucket{le=\"0.1\"} 99\n"
    "onceward_batch_duration_seconds_bucket{le=\"+Inf\"} 100\n";

TEST(SoakProbe, MetricsAreSummedOverTheirLabels) {
    EXPECT_EQ(metric_sum(metrics, "onceward_messages_total"), 100);
    EXPECT_EQ(metric_sum(metrics, "onceward_messages_total", "outcome=\"applied\""), 90);
    EXPECT_EQ(metric_sum(metrics, "process_resident_memory_bytes"), 4096);
    EXPECT_EQ(metric_sum(metrics, "onceward_unknown"), 0);
}
TEST(SoakProbe, AQuantileIsOfWhatCameBetweenTwoSamples) {
    const Buckets end = buckets_of(metrics, "onceward_batch_duration_seconds");
    EXPECT_EQ(quantile_between({}, end, 0.5), 0.01);
    EXPECT_EQ(quantile_between({}, end, 0.99), 0.1);
    // Above the last bound: at least that.
    EXPECT_EQ(quantile_between({}, end, 1), 0.1);
    Buckets begin = end;
    begin[0.01] -= 1;
    begin[0.1] -= 11;
    for (auto& [bound, count] : begin) {
        if (bound > 1) count -= 11;
    }
    EXPECT_EQ(quantile_between(begin, end, 0.5), 0.1);
    EXPECT_EQ(quantile_between(end, end, 0.5), 0);
}

}  // namespace
}  // namespace onceward::soak
