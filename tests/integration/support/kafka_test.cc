#include "tests/support/kafka.h"

#include <gtest/gtest.h>

#include "tests/support/unique.h"

namespace onceward::support {
namespace {

TEST(Kafka, GivesBackWhatWasProduced) {
    const std::string topic = unique_name("topic");
    kafka().create_topic(topic, 2);
    ProducedMessage full{0, "key", "payload", {{"a", "1"}, {"a", std::nullopt}}, 0};
    ProducedMessage empty{1, std::nullopt, std::nullopt, {}, 0};
    ProducedMessage blank{1, "", "", {}, 0};
    kafka().produce(topic, {full, empty, blank});
    const std::vector<ReadMessage> read = kafka().read_all(topic, 2);
    ASSERT_EQ(read.size(), 3U);
    for (const ReadMessage& message : read) {
        const ProducedMessage& sent =
            message.partition == 0 ? full : (message.offset == 0 ? empty : blank);
        EXPECT_EQ(message.key, sent.key);
        EXPECT_EQ(message.payload, sent.payload);
        EXPECT_EQ(message.headers, sent.headers);
    }
}

TEST(Kafka, HidesWhatWasAborted) {
    const std::string topic = unique_name("topic");
    kafka().create_topic(topic, 1);
    kafka().produce_in_transaction(topic, {{0, "a", "aborted", {}, 0}}, Kafka::Transaction::abort);
    kafka().produce_in_transaction(topic, {{0, "b", "kept", {}, 0}}, Kafka::Transaction::commit);
    const std::vector<ReadMessage> read = kafka().read_all(topic, 1);
    ASSERT_EQ(read.size(), 1U);
    EXPECT_EQ(read[0].payload, "kept");
    // Two messages and a control record after each transaction.
    EXPECT_EQ(kafka().offsets(topic, 0).second, 4);
}

TEST(Kafka, TrimsRecordsAddsPartitionsAndDeletesTopics) {
    const std::string topic = unique_name("topic");
    kafka().create_topic(topic, 1, {{"retention.ms", "3600000"}});
    kafka().produce(topic, std::vector<ProducedMessage>(10, {0, "k", "v", {}, 0}));
    kafka().delete_records(topic, 0, 4);
    EXPECT_EQ(kafka().offsets(topic, 0), (std::pair<std::int64_t, std::int64_t>(4, 10)));
    kafka().add_partitions(topic, 3);
    kafka().produce(topic, {{2, "k", "v", {}, 0}});
    EXPECT_EQ(kafka().read_all(topic, 3).size(), 7U);
    kafka().delete_topic(topic);
    kafka().create_topic(topic, 1);
    EXPECT_EQ(kafka().offsets(topic, 0).second, 0);
}

TEST(Kafka, ReadsAndSetsAGroupsCommittedOffset) {
    const std::string topic = unique_name("topic");
    const std::string group = unique_name("group");
    kafka().create_topic(topic, 1);
    EXPECT_EQ(kafka().committed_offset(group, topic, 0), std::nullopt);
    kafka().set_committed_offset(group, topic, 0, 7);
    EXPECT_EQ(kafka().committed_offset(group, topic, 0), 7);
}

TEST(Kafka, FailsWithAReason) {
    const std::string topic = unique_name("topic");
    kafka().create_topic(topic, 1);
    EXPECT_THROW(kafka().create_topic(topic, 1), std::runtime_error);
    EXPECT_THROW(kafka().produce(topic, {{9, "k", "v", {}, 0}}), std::runtime_error);
}

}  // namespace
}  // namespace onceward::support
