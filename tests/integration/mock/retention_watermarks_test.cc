// Samples of many partitions, and of logs whose brokers do not answer.

#include "consumer/partitions/retention_watermarks.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "dedup/ledger/ledger.h"
#include "lab/kafka/mock_cluster.h"
#include "tests/support/eventually.h"
#include "tests/support/kafka.h"
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

    // This worker has taken the fences of the topics' partitions, and reads all of them. `every` is
    // also the longest pause after a failure.
    void read(const std::vector<std::string>& topics, std::chrono::milliseconds every,
              int partitions = 1) {
        source_.emplace(kafka_, 0, topics, listener_);
        handoff_.emplace(topics, BatchLimits{}, Backoff{1s, 5s});
        watermarks_.emplace("group", every);
        for (const std::string& topic : topics) {
            const int ledger = register_ledger(connection_, {.name = topic}, "group", topic).ledger;
            for (int number = 0; number < partitions; ++number) {
                take({topic, Partition{number}}, ledger);
            }
        }
    }
    void take(const TopicPartition& partition, int ledger) {
        fences_.create(connection_, partition.topic, {{partition.partition, {Offset{0}}}}, ledger);
        const FenceState fence = fences_.take_over(
            connection_, partition.topic, partition.partition, {}, ledger, [] { return true; });
        handoff_->assigned({partition});
        handoff_->with(&Assignment::taken, partition, fence);
        handoff_->begin_seeks();
        handoff_->sought(partition, fence.next_offset);
        watermarks_->taken(partition, ledger, fence);
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

// The first partitions of a worker that has many were due again before the last ones had a sample,
// and then took each turn.
TEST_F(RetentionWatermarksOnMock, EachOfManyPartitionsHasItsTurn) {
    cluster_.create_topic("topic", 3);
    read({"topic"}, 0ms, 3);
    for (int i = 0; i < 6; ++i) tick();
    EXPECT_EQ(schema_.database().number("SELECT count(watermark) FROM fences"), 3);
    source_->close();
}

TEST_F(RetentionWatermarksOnMock, ATickTellsWhetherTheBrokersHaveAnswered) {
    cluster_.create_topic("topic", 2);
    read({"topic"}, 1h, 2);
    int answers = 0;
    EXPECT_TRUE(support::eventually(20s, [&] {
        const auto found = watermarks_->tick(connection_, *handoff_, *source_, fences_);
        answers += found.answered ? 1 : 0;
        return !found.answered && answers == 2;
    }));
    source_->close();
}

// A partition whose sample waits for the fence, such as one with a long lag, wants no other sample.
TEST_F(RetentionWatermarksOnMock, ATopicsPartitionsAreListedThoughNoPartitionWantsASample) {
    cluster_.create_topic("topic", 1);
    support::Kafka kafka(cluster_.bootstrap_servers());
    kafka.produce("topic", {{.partition = 0, .key = {}, .payload = "x", .headers = {}}});
    read({"topic"}, 50ms);
    int listed = 0;
    EXPECT_TRUE(support::eventually(20s, [&] {
        listed += tick() == "topic" ? 1 : 0;
        return listed == 3;
    }));
    EXPECT_EQ(schema_.database().number("SELECT count(watermark) FROM fences"), 0)
        << "the fence has not reached the end";
    source_->close();
}

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
    std::vector<std::string> asked;
    EXPECT_TRUE(support::eventually(60s, [&] {
        const auto begun = std::chrono::steady_clock::now();
        const std::string topic = tick();
        if (!topic.empty()) asked.push_back(topic);
        // The client may also fail at once, when it has just been refused a connection.
        if (topic != "healthy" && std::chrono::steady_clock::now() - begun > 3s) {
            EXPECT_EQ(tick(), "") << "the pause of one topic holds for all";
        }
        return topic == "healthy";
    }));
    EXPECT_EQ(asked, (std::vector<std::string>{"away", "away-too", "healthy"}));
    source_->close();
}

}  // namespace
}  // namespace onceward
