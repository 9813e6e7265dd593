#pragma once
// librdkafka handles of the checker that free themselves: a consumer without a group membership.
// Used by one thread. Failures are std::runtime_errors.

#include <librdkafka/rdkafka.h>

#include <chrono>
#include <memory>
#include <string>

#include "tests/faults/checker/load_kafka.h"

namespace onceward::checker {

template <auto destroy>
struct DestroyWith {
    template <typename T>
    void operator()(T* handle) const {
        destroy(handle);
    }
};
using KafkaMessage = std::unique_ptr<rd_kafka_message_t, DestroyWith<rd_kafka_message_destroy>>;
using PartitionList = std::unique_ptr<rd_kafka_topic_partition_list_t,
                                      DestroyWith<rd_kafka_topic_partition_list_destroy>>;

struct CloseConsumer {
    void operator()(rd_kafka_t* handle) const {
        rd_kafka_consumer_close(handle);
        rd_kafka_destroy(handle);
    }
};
using Consumer = std::unique_ptr<rd_kafka_t, CloseConsumer>;

// `isolation`: read_committed or read_uncommitted.
Consumer open_consumer(const KafkaSource& source, const std::string& isolation);
int partition_count(rd_kafka_t* consumer, const std::string& topic,
                    std::chrono::milliseconds limit);
// First offset and end. For a reader of committed messages the end is the last stable offset.
std::pair<std::int64_t, std::int64_t> range_of(rd_kafka_t* consumer, const std::string& topic,
                                               int partition, std::chrono::milliseconds limit);
void throw_on_error(rd_kafka_resp_err_t error, const std::string& what);

}  // namespace onceward::checker
