#include "consumer/produce/producer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "consumer/produce/keyed_producer.h"
#include "lab/kafka/mock_cluster.h"
#include "tests/support/kafka.h"

namespace onceward {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr milliseconds patience{30'000};
constexpr int not_leader_for_partition = 6;
constexpr int message_too_large = 10;

class ProducerTest : public testing::Test {
  protected:
    ProducerTest() { cluster_.create_topic("topic", 3); }

    ProducerOptions options() const {
        ProducerOptions options;
        options.bootstrap_servers = cluster_.bootstrap_servers();
        options.linger = milliseconds{1};
        return options;
    }
    static OutgoingRecord record(std::string_view payload, int partition = 0) {
        OutgoingRecord record;
        record.topic = "topic";
        record.partition = Partition{partition};
        record.payload = payload;
        return record;
    }
    std::vector<support::ReadMessage> read() {
        return support::Kafka(cluster_.bootstrap_servers()).read_all("topic", 3);
    }

    MockCluster cluster_;
};

TEST_F(ProducerTest, WritesKeyPayloadHeadersAndPartition) {
    Producer producer(options());
    const std::array<Header, 2> headers{Header{"Idempotency-Key", "k1"},
                                        Header{"empty", std::nullopt}};
    OutgoingRecord outgoing = record("payload", 2);
    outgoing.key = "";
    outgoing.headers = headers;
    producer.send(outgoing);
    ASSERT_TRUE(producer.flush(patience));

    const auto messages = read();
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_EQ(messages[0].partition, 2);
    EXPECT_EQ(messages[0].key, "");
    EXPECT_EQ(messages[0].payload, "payload");
    ASSERT_EQ(messages[0].headers.size(), 2U);
    EXPECT_EQ(messages[0].headers[0].second, "k1");
    EXPECT_EQ(messages[0].headers[1].second, std::nullopt);
}

TEST_F(ProducerTest, AMissingPayloadIsATombstoneAndAnEmptyOneIsNot) {
    Producer producer(options());
    OutgoingRecord tombstone = record("");
    tombstone.payload.reset();
    producer.send(tombstone);
    producer.send(record(""));
    ASSERT_TRUE(producer.flush(patience));
    const auto messages = read();
    ASSERT_EQ(messages.size(), 2U);
    EXPECT_EQ(messages[0].payload, std::nullopt);
    EXPECT_EQ(messages[1].payload, "");
}

TEST_F(ProducerTest, EveryRecordIsReportedOnceWithItsPlace) {
    Producer producer(options());
    std::set<std::uint64_t> tags;
    std::set<std::int64_t> offsets;
    producer.on_delivery([&](const Delivery& delivery) {
        EXPECT_TRUE(tags.insert(delivery.tag).second);
        EXPECT_TRUE(offsets.insert(delivery.offset.raw()).second);
        EXPECT_EQ(delivery.partition, Partition{1});
        EXPECT_EQ(delivery.error, "");
    });
    for (std::uint64_t tag = 1; tag <= 1'000; ++tag) {
        OutgoingRecord outgoing = record("x", 1);
        outgoing.tag = tag;
        producer.send(outgoing);
    }
    ASSERT_TRUE(producer.flush(patience));
    EXPECT_EQ(tags.size(), 1'000U);
    EXPECT_EQ(*offsets.rbegin(), 999);
    EXPECT_EQ(producer.delivered(), 1'000);
    EXPECT_EQ(producer.failed(), 0);
}

TEST_F(ProducerTest, AFullQueueMakesSendWaitAndLosesNothing) {
    ProducerOptions small = options();
    small.queued_records_max = 10;
    Producer producer(small);
    for (int count = 0; count < 500; ++count) producer.send(record("x"));
    ASSERT_TRUE(producer.flush(patience));
    EXPECT_EQ(producer.delivered(), 500);
    EXPECT_EQ(read().size(), 500U);
}

TEST_F(ProducerTest, ARequestThatFailsOnceIsTriedAgain) {
    Producer producer(options());
    const std::array<int, 2> errors{not_leader_for_partition, not_leader_for_partition};
    cluster_.push_errors(MockCluster::Request::produce, errors);
    producer.send(record("x"));
    ASSERT_TRUE(producer.flush(patience));
    EXPECT_EQ(producer.failed(), 0);
    EXPECT_EQ(read().size(), 1U);
}

TEST_F(ProducerTest, ARefusedRecordIsCountedWithItsReason) {
    Producer producer(options());
    const std::array<int, 1> errors{message_too_large};
    cluster_.push_errors(MockCluster::Request::produce, errors);
    std::string reason;
    producer.on_delivery([&](const Delivery& delivery) { reason = delivery.error; });
    producer.send(record("x"));
    ASSERT_TRUE(producer.flush(patience));
    EXPECT_EQ(producer.failed(), 1);
    EXPECT_EQ(producer.delivered(), 0);
    EXPECT_THAT(reason, HasSubstr("Message size too large"));
    EXPECT_EQ(producer.first_failure(), reason);
}

TEST_F(ProducerTest, IdempotenceCannotBeSwitchedOff) {
    ProducerOptions wrong = options();
    wrong.properties["enable.idempotence"] = "false";
    wrong.properties["acks"] = "1";
    // librdkafka refuses the pair of an idempotent producer and acks=1, so it was idempotent.
    EXPECT_THROW(Producer{wrong}, ProducerError);
}

TEST_F(ProducerTest, ABadPropertyIsNamed) {
    ProducerOptions wrong = options();
    wrong.properties["linger.msec"] = "1";
    try {
        Producer producer(wrong);
        FAIL() << "it was taken";
    } catch (const ProducerError& error) {
        EXPECT_THAT(error.what(), HasSubstr("linger.msec"));
    }
}

TEST_F(ProducerTest, KnowsTheNumberOfPartitions) {
    Producer producer(options());
    EXPECT_EQ(producer.partitions("topic", patience), 3);
}

TEST_F(ProducerTest, WithoutABrokerItSaysSo) {
    ProducerOptions nowhere = options();
    cluster_.set_broker_down(1);
    Producer producer(nowhere);
    try {
        producer.partitions("topic", milliseconds{500});
        FAIL() << "somebody answered";
    } catch (const ProducerError& error) {
        EXPECT_THAT(error.what(), HasSubstr("no broker answered"));
    }
}

TEST_F(ProducerTest, RecordsWaitForABrokerThatComesBack) {
    ProducerOptions quick = options();
    quick.properties["reconnect.backoff.max.ms"] = "100";
    Producer producer(quick);
    cluster_.set_broker_down(1);
    producer.send(record("x"));
    EXPECT_FALSE(producer.flush(milliseconds{300}));
    cluster_.set_broker_up(1);
    EXPECT_TRUE(producer.flush(patience));
    EXPECT_EQ(producer.delivered(), 1);
}

TEST_F(ProducerTest, ACopyAfterALostAnswerHasTheSameKey) {
    ProducerOptions quick = options();
    quick.delivery_timeout = milliseconds{600};
    KeyedProducer producer(quick, {.resends = 20, .pause = milliseconds{50}});
    std::vector<KeyedDelivery> fates;
    producer.on_delivery([&](const KeyedDelivery& fate) { fates.push_back(fate); });
    cluster_.set_round_trip(1, milliseconds{1500});
    OutgoingRecord outgoing = record("x");
    outgoing.tag = 9;
    const std::string key = producer.send(outgoing);
    const auto end = std::chrono::steady_clock::now() + patience;
    while (producer.resent() == 0 && std::chrono::steady_clock::now() < end) {
        producer.poll(milliseconds{50});
    }
    cluster_.set_round_trip(1, milliseconds{0});
    ASSERT_TRUE(producer.flush(patience));
    ASSERT_EQ(fates.size(), 1U);
    EXPECT_EQ(fates[0].key, key);
    EXPECT_EQ(fates[0].delivery.error, "");
    EXPECT_EQ(fates[0].delivery.tag, 9U);
    EXPECT_GT(fates[0].sends, 1);
    const auto messages = read();
    ASSERT_FALSE(messages.empty());
    for (const support::ReadMessage& message : messages) {
        ASSERT_EQ(message.headers.size(), 1U);
        EXPECT_EQ(message.headers[0].first, "Idempotency-Key");
        EXPECT_EQ(message.headers[0].second, key);
    }
}

}  // namespace
}  // namespace onceward
