#include "lab/kafka/topic_admin.h"

#include <array>

#include "consumer/kafka/kafka_error.h"
#include "consumer/kafka/kafka_handles.h"

namespace onceward {
namespace {

constexpr int admin_timeout_ms = 15'000;

KafkaClient admin_client(const std::string& bootstrap_servers) {
    std::array<char, 512> text{};
    KafkaConfiguration configuration(rd_kafka_conf_new());
    if (rd_kafka_conf_set(configuration.get(), "bootstrap.servers", bootstrap_servers.c_str(),
                          text.data(), text.size()) != RD_KAFKA_CONF_OK) {
        throw KafkaError(RD_KAFKA_RESP_ERR__INVALID_ARG, text.data());
    }
    KafkaClient client(
        rd_kafka_new(RD_KAFKA_PRODUCER, configuration.get(), text.data(), text.size()));
    if (!client) throw KafkaError(RD_KAFKA_RESP_ERR__FAIL, text.data());
    configuration.release();
    return client;
}

void check_results(const rd_kafka_topic_result_t* const* results, std::size_t count,
                   const std::string& what) {
    for (std::size_t i = 0; i < count; ++i) {
        const rd_kafka_resp_err_t code = rd_kafka_topic_result_error(results[i]);
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
            throw KafkaError(code, what + ": " + rd_kafka_err2str(code));
        }
    }
}

KafkaEvent wait_for(rd_kafka_queue_t* queue, const std::string& what) {
    KafkaEvent event(rd_kafka_queue_poll(queue, admin_timeout_ms));
    if (!event) throw KafkaError(RD_KAFKA_RESP_ERR__TIMED_OUT, what + ": no broker answered");
    if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        throw KafkaError(rd_kafka_event_error(event.get()),
                         what + ": " + rd_kafka_event_error_string(event.get()));
    }
    return event;
}

}  // namespace

void create_topic(const std::string& bootstrap_servers, const std::string& topic, int partitions,
                  const std::map<std::string, std::string>& settings) {
    const KafkaClient client = admin_client(bootstrap_servers);
    const KafkaQueue queue(rd_kafka_queue_new(client.get()));
    std::array<char, 512> text{};
    const KafkaNewTopic wanted(
        rd_kafka_NewTopic_new(topic.c_str(), partitions, 1, text.data(), text.size()));
    if (!wanted) throw KafkaError(RD_KAFKA_RESP_ERR__INVALID_ARG, text.data());
    for (const auto& [name, value] : settings) {
        const rd_kafka_resp_err_t code =
            rd_kafka_NewTopic_set_config(wanted.get(), name.c_str(), value.c_str());
        if (code != RD_KAFKA_RESP_ERR_NO_ERROR) throw KafkaError(code, rd_kafka_err2str(code));
    }
    std::array<rd_kafka_NewTopic_t*, 1> topics{wanted.get()};
    rd_kafka_CreateTopics(client.get(), topics.data(), topics.size(), nullptr, queue.get());
    const KafkaEvent event = wait_for(queue.get(), "create topic " + topic);
    std::size_t count = 0;
    const auto* results = rd_kafka_CreateTopics_result_topics(
        rd_kafka_event_CreateTopics_result(event.get()), &count);
    check_results(results, count, "create topic " + topic);
}

void delete_topic(const std::string& bootstrap_servers, const std::string& topic) {
    const KafkaClient client = admin_client(bootstrap_servers);
    const KafkaQueue queue(rd_kafka_queue_new(client.get()));
    rd_kafka_DeleteTopic_t* wanted = rd_kafka_DeleteTopic_new(topic.c_str());
    std::array<rd_kafka_DeleteTopic_t*, 1> topics{wanted};
    rd_kafka_DeleteTopics(client.get(), topics.data(), topics.size(), nullptr, queue.get());
    rd_kafka_DeleteTopic_destroy(wanted);
    const KafkaEvent event = wait_for(queue.get(), "delete topic " + topic);
    std::size_t count = 0;
    const auto* results = rd_kafka_DeleteTopics_result_topics(
        rd_kafka_event_DeleteTopics_result(event.get()), &count);
    check_results(results, count, "delete topic " + topic);
}

}  // namespace onceward
