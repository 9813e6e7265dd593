// What librdkafka hands out, as records.

#include "consumer/kafka/range_reader.h"

#include <gtest/gtest.h>

#include "consumer/produce/producer.h"
#include "lab/kafka/mock_cluster.h"

namespace onceward {
namespace {

using std::chrono::milliseconds;

// Producers may write -1, which is Kafka's word for no time. It is no time before 1970 either.
TEST(RangeReaderOnMock, ARecordWithoutATimeHasNone) {
    constexpr milliseconds patience{60'000};
    MockCluster cluster;
    cluster.create_topic("topic", 1);
    const TopicPartition partition{"topic", Partition{0}};
    {
        ProducerOptions options;
        options.bootstrap_servers = cluster.bootstrap_servers();
        Producer producer(options);
        for (const std::int64_t time : {-1, 1}) {
            OutgoingRecord record;
            record.topic = partition.topic;
            record.partition = partition.partition;
            record.payload = "{}";
            record.timestamp = milliseconds{time};
            producer.send(record);
        }
        ASSERT_TRUE(producer.flush(patience));
    }
    KafkaOptions options;
    options.bootstrap_servers = cluster.bootstrap_servers();
    options.group = "group";
    RangeReader reader(options);
    const std::vector<Record> records = reader.read(
        {{partition, Offset{0}, Offset{2}}},
        std::chrono::duration_cast<std::chrono::seconds>(patience));
    ASSERT_EQ(records.size(), 2U);
    EXPECT_EQ(records[0].timestamp, std::nullopt);
    EXPECT_EQ(records[1].timestamp, milliseconds{1});
}

}  // namespace
}  // namespace onceward
