#include "cli/page/partition_view.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace onceward {
namespace {

using namespace std::chrono_literals;

PartitionView row(int partition, std::int64_t applied = 0) {
    return {.database = "postgres",
            .partition = {"orders", Partition{partition}},
            .next_offset = Offset{100},
            .owner = "a:1/0",
            .totals = {.applied = applied}};
}

ProcessStatus process() {
    Worker::Status status;
    PartitionStatus& own = status.lag.emplace_back();
    own.partition = {"orders", Partition{0}};
    own.phase = PartitionPhase::halted;
    own.lag = 7;
    own.age = 1500ms;
    status.lag.emplace_back().partition = {"orders", Partition{9}};
    status.halted.push_back({{"orders", Partition{0}},
                             {.reason = HaltReason::out_of_range,
                              .text = "gone",
                              .lost = OffsetRange{Offset{3}, Offset{9}}}});
    ProcessStatus made;
    made.workers.push_back({2, status, ""});
    made.workers.push_back({3, std::nullopt, "ended"});
    return made;
}

TEST(PartitionView, OwnPartitionsHaveTheirStateAndOthersHaveNone) {
    std::vector<PartitionView> views{row(0), row(1)};
    add_own(views, process());
    ASSERT_EQ(views.size(), 3U);  // with the one whose fence was not taken yet
    const nlohmann::json own = to_json(views[0]);
    EXPECT_EQ(own["mine"], true);
    EXPECT_EQ(own["worker"], 2);
    EXPECT_EQ(own["lag"], 7);
    EXPECT_EQ(own["phase"], "halted");
    EXPECT_EQ(own["halted"]["reason"], "out_of_range");
    EXPECT_EQ(own["halted"]["lost"], nlohmann::json({3, 9}));
    const nlohmann::json other = to_json(views[1]);
    EXPECT_EQ(other["mine"], false);
    EXPECT_TRUE(other["lag"].is_null());
    EXPECT_FALSE(other.contains("halted"));
    EXPECT_EQ(to_json(views[2])["partition"], 9);
}

TEST(PartitionView, APartitionOfAnotherServerIsAnother) {
    std::vector<PartitionView> views{row(0)};
    views[0].database = "archive";
    add_own(views, process());
    EXPECT_FALSE(views[0].worker);
}

TEST(PartitionView, ATopicAddsItsPartitionsUp) {
    std::vector<PartitionView> views{row(0, 10), row(1, 5)};
    views[1].retired = true;
    add_own(views, process());
    const nlohmann::json topic = topic_json({&views[0], &views[1]});
    EXPECT_EQ(topic["totals"]["applied"], 15);
    EXPECT_EQ(topic["partitions"], 2);
    EXPECT_EQ(topic["of_others"], 1);
    EXPECT_EQ(topic["halted"], 1);
    EXPECT_EQ(topic["retired"], 1);
    EXPECT_EQ(topic["lag"], 7);
    EXPECT_EQ(topic["lag_of"], 1);
    EXPECT_EQ(topic["age_ms"], 1500);
}

}  // namespace
}  // namespace onceward
