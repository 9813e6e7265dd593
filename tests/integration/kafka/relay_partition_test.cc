// A relay whose broker is librdkafka's mock cluster, in which a partition loses its leader.

#include <algorithm>

#include "lab/kafka/mock_cluster.h"
#include "tests/integration/kafka/relay_fixture.h"

namespace onceward::kafka_tests {
namespace {

using testing::ElementsAre;

class RelayPartitionTest : public RelayTest {
  protected:
    RelayPartitionTest() {
        cluster_.create_topic(target_, partitions);
        cluster_.create_topic(well_, partitions);
        set_leader(no_leader);
    }

    RelayOptions options() {
        RelayOptions options = RelayTest::options();
        options.producer.bootstrap_servers = cluster_.bootstrap_servers();
        // How soon it sees that the partition has a leader.
        options.producer.properties.insert_or_assign("topic.metadata.refresh.interval.ms",
                                                     Secret("200"));
        return options;
    }
    void set_leader(std::int32_t broker) { cluster_.set_leader({target_, Partition{0}}, broker); }
    // Keys whose records go to the partition without a leader, or to the others.
    static std::vector<std::string> keys(bool dead, std::size_t count) {
        std::vector<std::string> found;
        for (int i = 0; found.size() < count; ++i) {
            const std::string key = "key-" + std::to_string(i);
            if ((support::partition_of(key, partitions) == 0) == dead) found.push_back(key);
        }
        return found;
    }
    // Two rows for each key, all in one transaction.
    void write_two(const std::vector<std::string>& keys, const std::string& topic) {
        OwnedTransaction transaction(connection_);
        for (const std::string& key : keys) insert(transaction, numbered(key, 2), key, topic);
        transaction.commit();
    }
    void expect_order(const std::vector<std::string>& keys) {
        support::Kafka kafka(cluster_.bootstrap_servers());
        std::map<std::string, std::vector<std::string>> payloads;
        for (const support::ReadMessage& message : kafka.read_all(target_, partitions)) {
            std::vector<std::string>& of_key = payloads[*message.key];
            const bool is_copy = std::ranges::find(of_key, *message.payload) != of_key.end();
            if (!is_copy) of_key.push_back(*message.payload);
        }
        for (const std::string& key : keys) {
            EXPECT_THAT(payloads[key], ElementsAre(key + "-0", key + "-1"));
        }
    }

    static constexpr std::int32_t no_leader = -1;
    MockCluster cluster_;
    std::string well_ = support::unique_name("well");
};

// The rows of its keys filled the relay's memory, and all others waited for 30 seconds.
TEST_F(RelayPartitionTest, APartitionWithoutALeaderStopsItsOwnKeysAlone) {
    const std::vector<std::string> dead = keys(true, 600);
    const std::vector<std::string> healthy = keys(false, 600);
    RunningRelay relay(options());
    ASSERT_TRUE(relay.leads());
    write_two(dead, target_);
    write_two(healthy, target_);
    write_two(healthy, well_);
    scene_.database().execute(
        "INSERT INTO outbox (consumer_group, topic, id, payload) VALUES ($1, $2, "
        "gen_random_uuid(), 'without a key')",
        {scene_.group(), well_});
    EXPECT_TRUE(eventually(20s, [&] { return waiting() == 1200; })) << waiting();
    EXPECT_EQ(relay.counts().sent, 2401);
    set_leader(1);
    EXPECT_TRUE(all_sent());
    expect_order(dead);
    expect_order(healthy);
}

// More of them than 1,000 once held the whole topic.
TEST_F(RelayPartitionTest, ManyHeldKeysOfAPartitionHoldNoOtherKeysOfTheirTopic) {
    const CapturedLog log;
    const std::vector<std::string> dead = keys(true, 1200);
    const std::vector<std::string> healthy = keys(false, 300);
    RelayOptions impatient = options();
    impatient.producer.delivery_timeout = 1s;
    RunningRelay relay(impatient);
    ASSERT_TRUE(relay.leads());
    write_two(dead, target_);
    ASSERT_TRUE(eventually(patience, [&] { return relay.counts().held_keys == 1200; }));
    EXPECT_EQ(relay.counts().held_topics, 0);
    write_two(healthy, target_);
    EXPECT_TRUE(eventually(20s, [&] { return waiting() == 2400; })) << waiting();
    set_leader(1);
    EXPECT_TRUE(all_sent());
    expect_order(dead);
    expect_order(healthy);
}

}  // namespace
}  // namespace onceward::kafka_tests
