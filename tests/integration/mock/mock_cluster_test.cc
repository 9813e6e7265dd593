#include "lab/kafka/mock_cluster.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/support/eventually.h"
#include "tests/support/kafka.h"

namespace onceward {
namespace {

using std::chrono::milliseconds;

TEST(MockCluster, IsReachedThroughLoopbackOnly) {
    const MockCluster cluster;
    EXPECT_TRUE(cluster.bootstrap_servers().starts_with("127.0.0.1:"))
        << cluster.bootstrap_servers();
}

TEST(MockCluster, ATopicHasItsPartitions) {
    MockCluster cluster;
    cluster.create_topic("topic", 5);
    support::Kafka kafka(cluster.bootstrap_servers());
    kafka.produce("topic", {{.partition = 4, .key = {}, .payload = "x", .headers = {}}});
    EXPECT_EQ(kafka.offsets("topic", 4).second, 1);
    EXPECT_EQ(kafka.read_all("topic", 5).size(), 1U);
}

TEST(MockCluster, ATopicIsMadeOnce) {
    MockCluster cluster;
    cluster.create_topic("topic", 1);
    EXPECT_THROW(cluster.create_topic("topic", 1), std::runtime_error);
}

TEST(MockCluster, ABrokerThatIsDownDoesNotAnswerUntilItIsUp) {
    MockCluster cluster;
    cluster.set_broker_down(1);
    support::Kafka kafka(cluster.bootstrap_servers());
    EXPECT_FALSE(kafka.answers(milliseconds{500}));
    cluster.set_broker_up(1);
    EXPECT_TRUE(support::eventually(milliseconds{20'000},
                                    [&] { return kafka.answers(milliseconds{500}); }));
}

TEST(MockCluster, APartitionMovesToAnotherLeader) {
    MockCluster cluster({.brokers = 2});
    cluster.create_topic("topic", 1);
    cluster.set_leader({"topic", Partition{0}}, 2);
    cluster.set_broker_down(1);
    support::Kafka kafka(cluster.bootstrap_servers());
    kafka.produce("topic", {{.partition = 0, .key = {}, .payload = "x", .headers = {}}});
    EXPECT_EQ(kafka.offsets("topic", 0).second, 1);
}

TEST(MockCluster, ABrokerThatDoesNotExistIsRefused) {
    MockCluster cluster;
    EXPECT_THROW(cluster.set_broker_down(9), std::runtime_error);
}

}  // namespace
}  // namespace onceward
