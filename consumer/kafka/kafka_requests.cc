#include "consumer/kafka/kafka_requests.h"

#include <array>

namespace onceward {
namespace {

// librdkafka gives it as the creation time of a record that its producer gave no time.
constexpr std::int64_t no_record_time = -1;

// Kafka distinguishes null from an empty value.
std::optional<std::string_view> bytes_at(const void* begin, std::size_t size) {
    if (begin == nullptr) return std::nullopt;
    return std::string_view(static_cast<const char*>(begin), size);
}

}  // namespace

KafkaAdminOptions admin_options(rd_kafka_t* client, rd_kafka_admin_op_t operation, int timeout_ms) {
    KafkaAdminOptions options(rd_kafka_AdminOptions_new(client, operation));
    std::array<char, 256> text{};
    rd_kafka_AdminOptions_set_request_timeout(options.get(), timeout_ms, text.data(), text.size());
    return options;
}

rd_kafka_topic_partition_t* add_to(const KafkaTopicPartitionList& list,
                                   const TopicPartition& partition, std::int64_t offset) {
    rd_kafka_topic_partition_t* element = rd_kafka_topic_partition_list_add(
        list.get(), partition.topic.c_str(), partition.partition.raw());
    element->offset = offset;
    return element;
}

KafkaTopicPartitionList list_of(const TopicPartition& partition, std::int64_t offset) {
    KafkaTopicPartitionList list(rd_kafka_topic_partition_list_new(1));
    add_to(list, partition, offset);
    return list;
}

std::vector<TopicPartition> to_vector(const rd_kafka_topic_partition_list_t* list) {
    std::vector<TopicPartition> partitions;
    for (int i = 0; i < list->cnt; ++i) {
        partitions.push_back({list->elems[i].topic, Partition{list->elems[i].partition}});
    }
    return partitions;
}

// Constructed with its headers' memory: an assignment would not move the list to that memory.
Record to_record(KafkaMessage message, std::pmr::memory_resource* memory) {
    Record record{.partition = Partition{message->partition},
                  .offset = Offset{message->offset},
                  .leader_epoch = LeaderEpoch{rd_kafka_message_leader_epoch(message.get())},
                  .log_append_time = false,
                  .timestamp = {},
                  .key = bytes_at(message->key, message->key_len),
                  .payload = bytes_at(message->payload, message->len),
                  .headers = RecordHeaders(memory)};
    rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
    const std::int64_t timestamp = rd_kafka_message_timestamp(message.get(), &type);
    if (type != RD_KAFKA_TIMESTAMP_NOT_AVAILABLE && timestamp != no_record_time) {
        record.timestamp = std::chrono::milliseconds(timestamp);
        record.log_append_time = type == RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME;
    }
    rd_kafka_headers_t* headers = nullptr;
    if (rd_kafka_message_headers(message.get(), &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
        record.headers.reserve(rd_kafka_header_cnt(headers));
        const char* name = nullptr;
        const void* value = nullptr;
        std::size_t size = 0;
        for (std::size_t i = 0; rd_kafka_header_get_all(headers, i, &name, &value, &size) ==
                                RD_KAFKA_RESP_ERR_NO_ERROR;
             ++i) {
            record.headers.push_back({name, bytes_at(value, size)});
        }
    }
    record.storage = {message.release(), [](void* raw) {
                          rd_kafka_message_destroy(static_cast<rd_kafka_message_t*>(raw));
                      }};
    return record;
}

}  // namespace onceward
