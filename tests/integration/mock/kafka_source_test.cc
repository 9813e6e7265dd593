#include "consumer/kafka/kafka_source.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "consumer/produce/producer.h"
#include "lab/kafka/mock_cluster.h"
#include "tests/support/eventually.h"

namespace onceward {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds source_patience{60'000};
constexpr int message_sets = 40;
constexpr int messages = message_sets * 5;

class NoSink final : public Sink {
  public:
    void write(Transaction&, const BatchContext&, std::span<const Message* const>) override {}
};

struct Listener final : SourceListener {
    std::set<TopicPartition> held;
    bool may_fail = false;
    int refused = 0;  // out of range, of a test that expects it
    bool may_refuse = false;
    void assigned(const std::vector<TopicPartition>& partitions) override {
        held.insert(partitions.begin(), partitions.end());
    }
    void revoked(const std::vector<TopicPartition>& partitions, bool) override {
        for (const TopicPartition& partition : partitions) held.erase(partition);
    }
    void out_of_range(const TopicPartition& partition) override {
        EXPECT_TRUE(may_refuse) << partition.topic << " is out of range";
        ++refused;
    }
    void unreadable(const UnreadableRecords& records) override { ADD_FAILURE() << records.reason; }
    void awaits_schema(const AwaitedRecord&) override {}
    void partition_failed(const TopicPartition&, int, const std::string& reason) override {
        EXPECT_TRUE(may_fail) << reason;
    }
};

class KafkaSourceOnMock : public testing::Test {
  protected:
    KafkaSourceOnMock() {
        cluster_.create_topic("topic", 1);
        ProducerOptions options;
        options.bootstrap_servers = cluster_.bootstrap_servers();
        // The mock cluster gives out one message set for each fetch: reading all takes many round
        // trips.
        options.properties["batch.num.messages"] = std::to_string(messages / message_sets);
        send(options);
        kafka_.bootstrap_servers = cluster_.bootstrap_servers();
        kafka_.group = "group";
        kafka_.properties["fetch.wait.max.ms"] = "20";
    }

    void send(const ProducerOptions& options) {
        Producer producer(options);
        for (int number = 0; number < messages; ++number) {
            OutgoingRecord record;
            record.topic = "topic";
            record.partition = Partition{0};
            record.payload = "{}";
            producer.send(record);
        }
        EXPECT_TRUE(producer.flush(source_patience));
    }

    // Reads the partition from its start, over a slow connection, as soon as it is assigned and the
    // broker was asked `questions` times for an offset.
    void expect_all_read(std::size_t questions = 0) {
        cluster_.set_round_trip(1, milliseconds{60});
        cluster_.keep_requests();
        MessageBuilder intake({"group", "topic", {}, {}}, sink_);
        KafkaSource source(kafka_, 0, {"topic"}, listener_);
        source.join();
        const TopicPartition partition{"topic", Partition{0}};
        bool reading = false;
        std::vector<std::int64_t> offsets;
        std::optional<Offset> end;
        EXPECT_TRUE(support::eventually(source_patience, [&] {
            source.serve();
            if (listener_.held.empty()) return false;
            if (cluster_.received(MockCluster::Request::list_offsets) < questions) return false;
            if (!reading) reading = source.begin(partition, Offset{0}, LeaderEpoch{-1});
            if (!reading) return false;
            const Chunk chunk = source.read(0, 1'000, intake);
            for (const Message& message : chunk.messages)
                offsets.push_back(message.record.offset.raw());
            for (const Span& span : chunk.spans) end = span.end;
            return end == Offset{messages};
        }));
        ASSERT_EQ(offsets.size(), static_cast<std::size_t>(messages));
        for (int number = 0; number < messages; ++number)
            EXPECT_EQ(offsets[static_cast<std::size_t>(number)], number);
        source.close();
    }

    MockCluster cluster_;
    KafkaOptions kafka_;
    Listener listener_;
    NoSink sink_;
};

// A seek that overtakes librdkafka's own question for the end of the log is undone half a second
// later, by a jump to the end: every message in between would be passed without being read.
TEST_F(KafkaSourceOnMock, ASeekRightAfterTheAssignmentSkipsNothing) {
    expect_all_read();
}

// Then the partition is assigned at the end by name, and librdkafka asks for that offset itself.
TEST_F(KafkaSourceOnMock, NoSeekOvertakesTheQuestionForAnEndThatTheBrokerDidNotKnow) {
    constexpr int offset_not_available = 78;
    cluster_.push_errors(MockCluster::Request::list_offsets, std::array{offset_not_available});
    expect_all_read(2);
}

// librdkafka gives up a partition whose end it may not ask for, and only a restart reads it again.
TEST_F(KafkaSourceOnMock, APartitionWhoseEndIsRefusedOnceIsReadAllTheSame) {
    constexpr int not_authorized = 29;
    cluster_.push_errors(MockCluster::Request::list_offsets,
                         std::array{not_authorized, not_authorized});
    listener_.may_fail = true;
    expect_all_read();
}

// A log that was cut below the fence and rewritten, as after an unclean election: the fence's epoch
// ended before the fence's offset.
TEST_F(KafkaSourceOnMock, AnOffsetAfterTheEndOfItsEpochIsRefusedEachTimeUnlessTheEpochIsLeftOut) {
    const TopicPartition partition{"topic", Partition{0}};
    cluster_.set_leader(partition, 1);
    ProducerOptions options;
    options.bootstrap_servers = cluster_.bootstrap_servers();
    send(options);
    listener_.may_refuse = true;
    MessageBuilder intake({"group", "topic", {}, {}}, sink_);
    KafkaSource source(kafka_, 0, {"topic"}, listener_);
    source.join();
    const Offset fence{messages + 10};
    int sought = 0;
    EXPECT_TRUE(support::eventually(source_patience, [&] {
        source.serve();
        if (listener_.held.empty()) return false;
        if (sought == listener_.refused && sought < 3 &&
            source.begin(partition, fence, LeaderEpoch{0})) {
            ++sought;
        }
        EXPECT_TRUE(source.read(0, 1'000, intake).messages.empty());
        return listener_.refused == 3;
    }));
    bool reading = false;
    EXPECT_TRUE(support::eventually(source_patience, [&] {
        source.serve();
        reading = reading || source.begin(partition, fence, LeaderEpoch{-1});
        return reading && !source.read(0, 1'000, intake).messages.empty();
    }));
    source.close();
}

}  // namespace
}  // namespace onceward
