// Samples of logs while some of their brokers are away.

#include "consumer/partitions/retention_watermarks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dedup/ledger/ledger.h"
#include "lab/kafka/mock_cluster.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

struct DeafListener final : SourceListener {
    void assigned(const std::vector<TopicPartition>&) override {}
    void revoked(const std::vector<TopicPartition>&, bool) override {}
    void out_of_range(const TopicPartition&) override {}
    void unreadable(const UnreadableRecords&) override {}
    void awaits_schema(const AwaitedRecord&) override {}
    void partition_failed(const TopicPartition&, int, const std::string&) override {}
};

// A question about a partition whose leader cannot be reached takes five seconds, in which the
// writer of the worker does nothing else.
TEST(RetentionWatermarksOnMock, TopicsWhoseLeadersAreAwayShareAPauseAndTakeTurnsWithTheOthers) {
    constexpr auto longest_pause = 2s;
    const std::vector<std::string> topics{"away", "away-too", "healthy"};
    MockCluster cluster({.brokers = 2});
    for (const std::string& topic : topics) {
        cluster.create_topic(topic, 1);
        cluster.set_leader({topic, Partition{0}}, topic == "healthy" ? 1 : 2);
    }
    cluster.set_broker_down(2);
    KafkaOptions kafka;
    kafka.bootstrap_servers = cluster.bootstrap_servers();
    kafka.group = "group";
    DeafListener listener;
    KafkaSource source(kafka, 0, topics, listener);
    support::FreshSchema schema;
    Connection connection(schema.worker());
    Handoff exchange{topics, {}, {1s, 5s}};
    Fences fences("group", "worker");
    RetentionWatermarks watermarks("group", longest_pause);
    for (const std::string& topic : topics) {
        const TopicPartition partition{topic, Partition{0}};
        const int ledger = register_ledger(connection, {.name = topic}, "group", topic).ledger;
        fences.create(connection, topic, {{partition.partition, {Offset{0}}}}, ledger);
        const FenceState fence = fences.take_over(connection, topic, partition.partition, {},
                                                  ledger, [] { return true; });
        exchange.assigned({partition});
        exchange.with(&Assignment::taken, partition, fence);
        exchange.begin_seeks();
        exchange.sought(partition, fence.next_offset);
        watermarks.taken(partition, ledger, fence);
    }
    const auto asked_about = [&] {
        const auto found = watermarks.tick(connection, exchange, source, fences);
        return found.listed ? found.listed->topic : "";
    };
    EXPECT_EQ(asked_about(), "away");
    EXPECT_EQ(asked_about(), "") << "the pause of the first topic holds for all";
    std::vector<std::string> asked;
    EXPECT_TRUE(support::eventually(60s, [&] {
        const std::string topic = asked_about();
        if (!topic.empty()) asked.push_back(topic);
        return topic == "healthy";
    }));
    EXPECT_EQ(asked, (std::vector<std::string>{"away-too", "healthy"}));
    source.close();
}

}  // namespace
}  // namespace onceward
