#pragma once
// Pieces that requests to librdkafka share. Thread-safe. Include it in .cc files only: it brings in
// librdkafka's headers.

#include <functional>
#include <memory_resource>
#include <string>
#include <vector>

#include "consumer/kafka/kafka_handles.h"
#include "consumer/kafka/kafka_options.h"
#include "dedup/base/types.h"
#include "dedup/message/message.h"

namespace onceward {

// What a client calls back, on the thread that polls it. librdkafka's opaque pointer leads to one
// of these, or is null.
struct ClientCallbacks {
    std::function<void(rd_kafka_resp_err_t, rd_kafka_topic_partition_list_t*)> rebalance;
    // The connections' failures, which are logged already.
    std::function<void(int code, const std::string& reason)> error;
};

// A consumer; polling it serves its callbacks too. Throws KafkaError for a property that librdkafka
// does not accept. `worker` numbers static members. The callbacks may be null; they outlive the
// client.
KafkaClient make_consumer(const KafkaOptions& options, int worker, ClientCallbacks* callbacks);

// How long the brokers have for an answer, in milliseconds.
inline constexpr int query_timeout_ms = 5000;

// For an admin request, which librdkafka gives up after `timeout_ms`.
KafkaAdminOptions admin_options(rd_kafka_t* client, rd_kafka_admin_op_t operation,
                                int timeout_ms = query_timeout_ms);

// Adds the partition to the list.
rd_kafka_topic_partition_t* add_to(const KafkaTopicPartitionList& list,
                                   const TopicPartition& partition, std::int64_t offset);
// A list with this partition alone, and the offset if the request needs one.
KafkaTopicPartitionList list_of(const TopicPartition& partition,
                                std::int64_t offset = RD_KAFKA_OFFSET_INVALID);
std::vector<TopicPartition> to_vector(const rd_kafka_topic_partition_list_t* list);

// A message of librdkafka's as a Record. The record's views point into the message, which the
// record then owns. The message must be gone before its client. The list of headers is allocated
// from `memory`, which outlives the record.
Record to_record(KafkaMessage message,
                 std::pmr::memory_resource* memory = std::pmr::get_default_resource());

}  // namespace onceward
