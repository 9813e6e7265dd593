// The danger line of give_back_all() in consumer/kafka/kafka_source_rebalance.cc, on a real broker.

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "consumer/kafka/kafka_source.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;

struct HeldPartitions final : SourceListener {
    std::set<int> held;
    int lost = 0;  // partitions
    void assigned(const std::vector<TopicPartition>& partitions) override {
        for (const TopicPartition& at : partitions) held.insert(at.partition.raw());
    }
    void revoked(const std::vector<TopicPartition>& partitions, bool are_lost) override {
        for (const TopicPartition& at : partitions) held.erase(at.partition.raw());
        if (are_lost) lost += static_cast<int>(partitions.size());
    }
    void out_of_range(const TopicPartition&) override {}
    void unreadable(const UnreadableRecords&) override {}
    void awaits_schema(const AwaitedRecord&) override {}
    void partition_failed(const TopicPartition&, int, const std::string&) override {}
};

// Serves it, where it is not to be kept from its callbacks, until the group is as wanted.
template <class Is>
bool group_becomes(KafkaSource& source, bool served, const Is& is) {
    return eventually(patience, [&] {
        if (served) source.serve();
        source.ask_for_group();
        const std::optional<GroupSight> sight = source.told_group();
        return sight && is(*sight);
    });
}

TEST(EagerAssignment, StandsForAllWhereALeaderJoinedAgainWithoutARevoke) {
    const std::string topic = support::unique_name("eager");
    support::kafka().create_topic(topic, 4);
    KafkaOptions options;
    options.bootstrap_servers = support::kafka_bootstrap_servers();
    options.group = support::unique_name("group");
    options.properties = {{"partition.assignment.strategy", "range"},
                          {"heartbeat.interval.ms", "100"},
                          {"session.timeout.ms", "6000"},
                          {"topic.metadata.refresh.interval.ms", "200"}};
    HeldPartitions first;
    KafkaSource leader(options, 0, {topic}, first);
    leader.join();
    const auto all = [](std::size_t count) {
        return [count](const GroupSight& sight) {
            return sight.settled && sight.owned.size() == count;
        };
    };
    // Its first assignment waits for its callback from here on.
    ASSERT_TRUE(group_becomes(leader, false, all(4)));
    HeldPartitions second;
    KafkaSource follower(options, 1, {topic}, second);
    follower.join();
    const auto serve_follower = std::jthread([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            follower.serve();
            follower.wait(std::chrono::milliseconds(20));
        }
    });
    ASSERT_TRUE(group_becomes(leader, false, [](const GroupSight& sight) {
        return !sight.settled;  // the other one has come
    }));
    support::kafka().add_partitions(topic, 5);
    ASSERT_TRUE(group_becomes(leader, false, all(5)));

    // Which share is whose hangs on the members' ids.
    EXPECT_TRUE(eventually(
        patience,
        [&] {
            leader.serve();
            return first.held == std::set<int>{0, 1, 2} || first.held == std::set<int>{3, 4};
        }))
        << first.held.size() << " are held";
    EXPECT_EQ(first.lost, 4) << "nothing was shown: there was a revoke";
    const TopicPartition own{topic, Partition{*first.held.begin()}};
    EXPECT_TRUE(eventually(patience, [&] {
        leader.serve();
        return leader.begin(own, Offset{0}, LeaderEpoch{-1});
    }));
}

}  // namespace
}  // namespace onceward::kafka_tests
