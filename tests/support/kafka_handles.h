#pragma once
// RAII for the C handles of librdkafka that tests/support uses, and its errors as exceptions.

#include <librdkafka/rdkafka.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace onceward::support {

constexpr int kafka_answer_limit_ms = 30'000;

struct KafkaFree {
    void operator()(rd_kafka_queue_t* queue) const { rd_kafka_queue_destroy(queue); }
    void operator()(rd_kafka_event_t* event) const { rd_kafka_event_destroy(event); }
    void operator()(rd_kafka_error_t* error) const { rd_kafka_error_destroy(error); }
    void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
    void operator()(rd_kafka_NewTopic_t* topic) const { rd_kafka_NewTopic_destroy(topic); }
    void operator()(rd_kafka_DeleteTopic_t* topic) const { rd_kafka_DeleteTopic_destroy(topic); }
    void operator()(rd_kafka_NewPartitions_t* request) const {
        rd_kafka_NewPartitions_destroy(request);
    }
    void operator()(rd_kafka_DeleteRecords_t* request) const {
        rd_kafka_DeleteRecords_destroy(request);
    }
    void operator()(rd_kafka_AclBinding_t* binding) const { rd_kafka_AclBinding_destroy(binding); }
    void operator()(rd_kafka_topic_partition_list_t* list) const {
        rd_kafka_topic_partition_list_destroy(list);
    }
    void operator()(const rd_kafka_metadata_t* metadata) const {
        rd_kafka_metadata_destroy(metadata);
    }
};
template <class Type>
using KafkaOwned = std::unique_ptr<Type, KafkaFree>;

inline void check_kafka(rd_kafka_resp_err_t code, const std::string& what) {
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
        throw std::runtime_error(what + ": " + rd_kafka_err2str(code));
}

inline void check_kafka(rd_kafka_error_t* raw, const std::string& what) {
    const KafkaOwned<rd_kafka_error_t> error(raw);
    if (error) throw std::runtime_error(what + ": " + rd_kafka_error_string(raw));
}

inline KafkaOwned<rd_kafka_topic_partition_list_t> one_partition(const std::string& topic,
                                                                 int partition,
                                                                 std::int64_t offset) {
    KafkaOwned<rd_kafka_topic_partition_list_t> list(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), partition)->offset = offset;
    return list;
}

}  // namespace onceward::support
