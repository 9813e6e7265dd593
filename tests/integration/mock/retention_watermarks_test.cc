// Samples of logs whose brokers do not answer.

#include "consumer/partitions/retention_watermarks.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "dedup/ledger/ledger.h"
#include "lab/kafka/mock_cluster.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

class RetentionWatermarksOnMock : public testing::Test {
  protected:
    RetentionWatermarksOnMock() {
        kafka_.bootstrap_servers = cluster_.bootstrap_servers();
        kafka_.group = "group";
    }

    // The topics have one partition each, whose fence this worker has taken and which it reads.
    void read(const std::vector<std::string>& topics, std::chrono::milliseconds longest_pause) {
        source_.emplace(kafka_, 0, topics, listener_);
        handoff_.emplace(topics, BatchLimits{}, Backoff{1s, 5s});
        watermarks_.emplace("group", longest_pause);
        for (const std::string& topic : topics) {
            const TopicPartition partition{topic, Partition{0}};
            const int ledger = register_ledger(connection_, {.name = topic}, "group", topic).ledger;
            fences_.create(connection_, topic, {{partition.partition, {Offset{0}}}}, ledger);
            const FenceState fence = fences_.take_over(connection_, topic, partition.partition, {},
                                                       ledger, [] { return true; });
            handoff_->assigned({partition});
            handoff_->with(&Assignment::taken, partition, fence);
            handoff_->begin_seeks();
            handoff_->sought(partition, fence.next_offset);
            watermarks_->taken(partition, ledger, fence);
        }
    }
    // The topic whose partitions were listed in one tick; '' if it was none.
    std::string tick() {
        const auto found = watermarks_->tick(connection_, *handoff_, *source_, fences_);
        return found.listed ? found.listed->topic : "";
    }

    MockCluster cluster_{{.brokers = 2}};
    KafkaOptions kafka_;
    SilentListener listener_;
    support::FreshSchema schema_;
    Connection connection_{schema_.worker()};
    Fences fences_{"group", "worker"};
    std::optional<KafkaSource> source_;
    std::optional<Handoff> handoff_;
    std::optional<RetentionWatermarks> watermarks_;
};

// Another topic's answer must not take its place: with `reach: partition` a topic may not continue
// after partitions were added.
TEST_F(RetentionWatermarksOnMock, ATopicsPartitionsAreToldThoughTheNextQuestionFails) {
    constexpr int not_authorized = 29;
    for (const char* topic : {"another", "topic"}) cluster_.create_topic(topic, 1);
    read({"another", "topic"}, 1h);
    cluster_.push_errors(MockCluster::Request::list_offsets, std::array{not_authorized});
    // A slow machine may add a pause after the question that fails.
    std::vector<std::string> told;
    EXPECT_TRUE(support::eventually(20s, [&] {
        const std::string topic = tick();
        if (!topic.empty()) told.push_back(topic);
        return told.size() == 2;
    }));
    EXPECT_EQ(told, (std::vector<std::string>{"another", "topic"}));
    source_->close();
}

// A question about a partition whose leader cannot be reached takes five seconds, in which the
// writer of the worker does nothing else.
TEST_F(RetentionWatermarksOnMock, TopicsWhoseLeadersAreAwayShareAPauseAndTakeTurnsWithTheOthers) {
    const std::vector<std::string> topics{"away", "away-too", "healthy"};
    for (const std::string& topic : topics) {
        cluster_.create_topic(topic, 1);
        cluster_.set_leader({topic, Partition{0}}, topic == "healthy" ? 1 : 2);
    }
    cluster_.set_broker_down(2);
    read(topics, 2s);
    EXPECT_EQ(tick(), "away");
    EXPECT_EQ(tick(), "") << "the pause of the first topic holds for all";
    std::vector<std::string> asked;
    EXPECT_TRUE(support::eventually(60s, [&] {
        const std::string topic = tick();
        if (!topic.empty()) asked.push_back(topic);
        return topic == "healthy";
    }));
    EXPECT_EQ(asked, (std::vector<std::string>{"away-too", "healthy"}));
    source_->close();
}

}  // namespace
}  // namespace onceward
