#pragma once
// Owners for what librdkafka's C API hands out: one deleter and one unique_ptr alias for each
// handle. A handle has one owner; librdkafka's own rules say which calls are thread-safe. Nothing
// here throws. Include it in .cc files only: it brings in librdkafka's headers.

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <memory>

namespace onceward {

// Calls `destroy` on what the unique_ptr holds; the C function is part of the type and costs
// nothing.
template <auto destroy>
struct KafkaDeleter {
    template <class Handle>
    void operator()(Handle* handle) const {
        destroy(handle);
    }
};

template <class Handle, auto destroy>
using KafkaHandle = std::unique_ptr<Handle, KafkaDeleter<destroy>>;

// A client. Call rd_kafka_consumer_close() before a consumer is destroyed, or its group waits for
// the session time-out.
using KafkaClient = KafkaHandle<rd_kafka_t, rd_kafka_destroy>;
// rd_kafka_new() takes the configuration over when it succeeds: release() it then, and only then.
using KafkaConfiguration = KafkaHandle<rd_kafka_conf_t, rd_kafka_conf_destroy>;
using KafkaTopic = KafkaHandle<rd_kafka_topic_t, rd_kafka_topic_destroy>;
using KafkaTopicPartitionList =
    KafkaHandle<rd_kafka_topic_partition_list_t, rd_kafka_topic_partition_list_destroy>;
// All queues must be gone before the client that they came from.
using KafkaQueue = KafkaHandle<rd_kafka_queue_t, rd_kafka_queue_destroy>;
// All messages must be gone before the client that they came from.
using KafkaMessage = KafkaHandle<rd_kafka_message_t, rd_kafka_message_destroy>;
using KafkaEvent = KafkaHandle<rd_kafka_event_t, rd_kafka_event_destroy>;
// rd_kafka_producev() takes headers over when it succeeds: release() them then, and only then.
using KafkaHeaders = KafkaHandle<rd_kafka_headers_t, rd_kafka_headers_destroy>;
using KafkaErrorObject = KafkaHandle<rd_kafka_error_t, rd_kafka_error_destroy>;
using KafkaMetadata = KafkaHandle<const rd_kafka_metadata_t, rd_kafka_metadata_destroy>;
using KafkaAdminOptions = KafkaHandle<rd_kafka_AdminOptions_t, rd_kafka_AdminOptions_destroy>;
using KafkaTopicCollection =
    KafkaHandle<rd_kafka_TopicCollection_t, rd_kafka_TopicCollection_destroy>;
using KafkaConfigResource = KafkaHandle<rd_kafka_ConfigResource_t, rd_kafka_ConfigResource_destroy>;
using KafkaNewTopic = KafkaHandle<rd_kafka_NewTopic_t, rd_kafka_NewTopic_destroy>;
using KafkaMockCluster = KafkaHandle<rd_kafka_mock_cluster_t, rd_kafka_mock_cluster_destroy>;

// Strings that librdkafka allocated, such as rd_kafka_clusterid()'s.
struct KafkaMemoryDeleter {
    void operator()(void* memory) const { rd_kafka_mem_free(nullptr, memory); }
};
using KafkaString = std::unique_ptr<char, KafkaMemoryDeleter>;

}  // namespace onceward
