// The part of Kafka that asks the controller: topics, partitions, records.
#include <span>

#include "tests/support/eventually.h"
#include "tests/support/kafka.h"
#include "tests/support/kafka_handles.h"

namespace onceward::support {
namespace {

// Asks, waits for the answer and has `results` look into it.
template <class Request, class Results>
void ask(rd_kafka_t* handle, const std::string& what, Request request, Results results) {
    const KafkaOwned<rd_kafka_queue_t> queue(rd_kafka_queue_new(handle));
    request(queue.get());
    const KafkaOwned<rd_kafka_event_t> event(
        rd_kafka_queue_poll(queue.get(), kafka_answer_limit_ms));
    if (!event) throw std::runtime_error(what + ": no answer");
    if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR)
        throw std::runtime_error(what + ": " + rd_kafka_event_error_string(event.get()));
    results(event.get());
}

void check_topics(const std::string& what, const rd_kafka_topic_result_t** results,
                  std::size_t count) {
    for (const rd_kafka_topic_result_t* result : std::span(results, count))
        check_kafka(rd_kafka_topic_result_error(result), what);
}

// Returns how many partitions have such a leader; 0 if the topic is unknown.
template <class Wanted>
int partition_count(rd_kafka_t* handle, const std::string& topic, Wanted wanted) {
    rd_kafka_topic_t* local = rd_kafka_topic_new(handle, topic.c_str(), nullptr);
    const rd_kafka_metadata_t* raw = nullptr;
    const rd_kafka_resp_err_t code =
        rd_kafka_metadata(handle, 0, local, &raw, kafka_answer_limit_ms);
    rd_kafka_topic_destroy(local);
    const KafkaOwned<const rd_kafka_metadata_t> metadata(raw);
    check_kafka(code, "metadata of " + topic);
    if (raw->topic_cnt != 1 || raw->topics[0].err != RD_KAFKA_RESP_ERR_NO_ERROR) return 0;
    int count = 0;
    for (int index = 0; index < raw->topics[0].partition_cnt; ++index)
        count += wanted(raw->topics[0].partitions[index].leader) ? 1 : 0;
    return count;
}

bool any_leader(std::int32_t leader) { return leader >= 0; }

void wait_for_partitions(rd_kafka_t* handle, const std::string& topic, int wanted) {
    if (!eventually(std::chrono::milliseconds(kafka_answer_limit_ms),
                    [&] { return partition_count(handle, topic, any_leader) == wanted; }))
        throw std::runtime_error(topic + " does not have " + std::to_string(wanted) +
                                 " partitions in time");
}

}  // namespace

int Kafka::led_by(const std::string& topic, int broker) {
    return partition_count(handle_.get(), topic,
                           [broker](std::int32_t leader) { return leader == broker; });
}

std::set<std::string> Kafka::topics() {
    const struct rd_kafka_metadata* metadata = nullptr;
    check_kafka(rd_kafka_metadata(handle_.get(), 1, nullptr, &metadata, 10'000), "topics");
    std::set<std::string> names;
    for (int i = 0; i < metadata->topic_cnt; ++i) names.insert(metadata->topics[i].topic);
    rd_kafka_metadata_destroy(metadata);
    return names;
}

void Kafka::create_topic(const std::string& topic, int partitions, const Properties& config) {
    char error[512];
    const KafkaOwned<rd_kafka_NewTopic_t> request(
        rd_kafka_NewTopic_new(topic.c_str(), partitions, copies_, error, sizeof error));
    if (!request) throw std::runtime_error(error);
    for (const auto& [name, value] : config)
        check_kafka(rd_kafka_NewTopic_set_config(request.get(), name.c_str(), value.c_str()), name);
    rd_kafka_NewTopic_t* requests[] = {request.get()};
    ask(
        handle_.get(), "create " + topic,
        [&](rd_kafka_queue_t* queue) {
            rd_kafka_CreateTopics(handle_.get(), requests, 1, nullptr, queue);
        },
        [&](rd_kafka_event_t* event) {
            std::size_t count = 0;
            const auto* result = rd_kafka_event_CreateTopics_result(event);
            const auto topics = rd_kafka_CreateTopics_result_topics(result, &count);
            check_topics("create " + topic, topics, count);
        });
    wait_for_partitions(handle_.get(), topic, partitions);
}

void Kafka::delete_topic(const std::string& topic) {
    const KafkaOwned<rd_kafka_DeleteTopic_t> request(rd_kafka_DeleteTopic_new(topic.c_str()));
    rd_kafka_DeleteTopic_t* requests[] = {request.get()};
    ask(
        handle_.get(), "delete " + topic,
        [&](rd_kafka_queue_t* queue) {
            rd_kafka_DeleteTopics(handle_.get(), requests, 1, nullptr, queue);
        },
        [&](rd_kafka_event_t* event) {
            std::size_t count = 0;
            const auto* result = rd_kafka_event_DeleteTopics_result(event);
            const auto topics = rd_kafka_DeleteTopics_result_topics(result, &count);
            check_topics("delete " + topic, topics, count);
        });
    wait_for_partitions(handle_.get(), topic, 0);
}

void Kafka::add_partitions(const std::string& topic, int new_total) {
    char error[512];
    const KafkaOwned<rd_kafka_NewPartitions_t> request(rd_kafka_NewPartitions_new(
        topic.c_str(), static_cast<std::size_t>(new_total), error, sizeof error));
    if (!request) throw std::runtime_error(error);
    rd_kafka_NewPartitions_t* requests[] = {request.get()};
    ask(
        handle_.get(), "add partitions to " + topic,
        [&](rd_kafka_queue_t* queue) {
            rd_kafka_CreatePartitions(handle_.get(), requests, 1, nullptr, queue);
        },
        [&](rd_kafka_event_t* event) {
            std::size_t count = 0;
            const auto* result = rd_kafka_event_CreatePartitions_result(event);
            const auto topics = rd_kafka_CreatePartitions_result_topics(result, &count);
            check_topics("add partitions to " + topic, topics, count);
        });
    wait_for_partitions(handle_.get(), topic, new_total);
}

void Kafka::allow(const std::string& user, Right right, const std::string& name) {
    const rd_kafka_ResourceType_t kinds[] = {RD_KAFKA_RESOURCE_TOPIC, RD_KAFKA_RESOURCE_GROUP,
                                             RD_KAFKA_RESOURCE_BROKER};
    char error[512];
    const KafkaOwned<rd_kafka_AclBinding_t> binding(rd_kafka_AclBinding_new(
        kinds[static_cast<std::size_t>(right)], name.c_str(), RD_KAFKA_RESOURCE_PATTERN_LITERAL,
        ("User:" + user).c_str(), "*",
        right == Right::use_cluster ? RD_KAFKA_ACL_OPERATION_ALL : RD_KAFKA_ACL_OPERATION_READ,
        RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW, error, sizeof error));
    if (!binding) throw std::runtime_error(error);
    rd_kafka_AclBinding_t* bindings[] = {binding.get()};
    ask(
        handle_.get(), "rights on " + name,
        [&](rd_kafka_queue_t* queue) {
            rd_kafka_CreateAcls(handle_.get(), bindings, 1, nullptr, queue);
        },
        [&](rd_kafka_event_t* event) {
            std::size_t count = 0;
            const auto results =
                rd_kafka_CreateAcls_result_acls(rd_kafka_event_CreateAcls_result(event), &count);
            for (const rd_kafka_acl_result_t* result : std::span(results, count)) {
                const rd_kafka_error_t* failed = rd_kafka_acl_result_error(result);
                if (failed == nullptr) continue;
                throw std::runtime_error("rights on " + name + ": " +
                                         rd_kafka_error_string(failed));
            }
        });
}

void Kafka::delete_records(const std::string& topic, int partition, std::int64_t before_offset) {
    const auto list = one_partition(topic, partition, before_offset);
    const KafkaOwned<rd_kafka_DeleteRecords_t> request(rd_kafka_DeleteRecords_new(list.get()));
    rd_kafka_DeleteRecords_t* requests[] = {request.get()};
    ask(
        handle_.get(), "delete records of " + topic,
        [&](rd_kafka_queue_t* queue) {
            rd_kafka_DeleteRecords(handle_.get(), requests, 1, nullptr, queue);
        },
        [&](rd_kafka_event_t* event) {
            const auto* offsets =
                rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event));
            for (int index = 0; index < offsets->cnt; ++index)
                check_kafka(offsets->elems[index].err, "delete records of " + topic);
        });
}

}  // namespace onceward::support
