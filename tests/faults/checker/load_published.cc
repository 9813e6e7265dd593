// What an outbox has published, read as anybody reads it.

#include <charconv>
#include <set>
#include <stdexcept>

#include "tests/faults/checker/kafka_handle.h"

namespace onceward::checker {
namespace {

constexpr const char* record_id_header = "onceward-id";

// The last header of that name; empty where there is none.
std::string header(rd_kafka_message_t* message, const std::string& name) {
    rd_kafka_headers_t* headers = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    const bool found = rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR &&
                       rd_kafka_header_get_last(headers, name.c_str(), &value, &size) ==
                           RD_KAFKA_RESP_ERR_NO_ERROR;
    return found && value != nullptr ? std::string(static_cast<const char*>(value), size) : "";
}

PublishedRecord record_of(rd_kafka_message_t* message, const std::string& id_header) {
    PublishedRecord record{.partition = message->partition, .offset = message->offset};
    const std::string digits = header(message, id_header);
    std::from_chars(digits.data(), digits.data() + digits.size(), record.message);
    record.id = header(message, record_id_header);
    if (message->key != nullptr) {
        record.key.emplace(static_cast<const char*>(message->key), message->key_len);
    }
    return record;
}

}  // namespace

void load_published(const KafkaSource& source, const std::string& topic, Evidence& evidence) {
    evidence.published.clear();
    const Consumer consumer = open_consumer(source, "read_committed");
    const auto deadline = std::chrono::steady_clock::now() + source.limit;
    const PartitionList list(rd_kafka_topic_partition_list_new(4));
    const int count = partition_count(consumer.get(), topic, source.limit);
    for (int partition = 0; partition < count; ++partition) {
        rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset =
            RD_KAFKA_OFFSET_BEGINNING;
    }
    throw_on_error(rd_kafka_assign(consumer.get(), list.get()), "assign");
    for (std::set<int> ended; ended.size() < static_cast<std::size_t>(count);) {
        if (std::chrono::steady_clock::now() > deadline) {
            throw std::runtime_error("Kafka: " + topic + " was not read in time");
        }
        const KafkaMessage message(rd_kafka_consumer_poll(consumer.get(), 500));
        if (!message) continue;
        if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
            ended.insert(message->partition);
        } else if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
            evidence.published.push_back(record_of(message.get(), source.id_header));
        } else if (message->rkt != nullptr) {
            throw_on_error(message->err, "reading " + topic);
        }
    }
}

}  // namespace onceward::checker
