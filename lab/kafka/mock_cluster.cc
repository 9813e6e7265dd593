#include "lab/kafka/mock_cluster.h"

#include <array>
#include <stdexcept>
#include <vector>

#include "consumer/kafka/kafka_handles.h"

namespace onceward {
namespace {

void check(rd_kafka_resp_err_t error, const std::string& what) {
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
        throw std::runtime_error("mock cluster, " + what + ": " + rd_kafka_err2str(error));
}

}  // namespace

struct MockCluster::State {
    KafkaClient client;  // librdkafka keeps the cluster's books in a client; it talks to no broker
    KafkaMockCluster cluster;
};

MockCluster::MockCluster(MockClusterOptions options) : state_(std::make_unique<State>()) {
    std::array<char, 512> reason{};
    KafkaConfiguration configuration(rd_kafka_conf_new());
    rd_kafka_conf_set_log_cb(configuration.get(), nullptr);  // it would write to standard error
    state_->client.reset(
        rd_kafka_new(RD_KAFKA_PRODUCER, configuration.get(), reason.data(), reason.size()));
    if (!state_->client) throw std::runtime_error(std::string("mock cluster: ") + reason.data());
    static_cast<void>(configuration.release());
    state_->cluster.reset(rd_kafka_mock_cluster_new(state_->client.get(), options.brokers));
    if (!state_->cluster)
        throw std::runtime_error("mock cluster: it could not be started on 127.0.0.1");
    rd_kafka_mock_group_initial_rebalance_delay_ms(
        state_->cluster.get(), static_cast<std::int32_t>(options.initial_rebalance_delay.count()));
    rd_kafka_mock_set_group_consumer_heartbeat_interval_ms(
        state_->cluster.get(), static_cast<int>(options.heartbeat_interval.count()));
    rd_kafka_mock_set_group_consumer_session_timeout_ms(
        state_->cluster.get(), static_cast<int>(options.session_timeout.count()));
}

MockCluster::~MockCluster() = default;

std::string MockCluster::bootstrap_servers() const {
    return rd_kafka_mock_cluster_bootstraps(state_->cluster.get());
}

void MockCluster::create_topic(const std::string& topic, std::int32_t partitions) {
    check(rd_kafka_mock_topic_create(state_->cluster.get(), topic.c_str(), partitions, 1),
          "topic " + topic);
}

void MockCluster::set_leader(const TopicPartition& partition, std::int32_t broker) {
    check(rd_kafka_mock_partition_set_leader(state_->cluster.get(), partition.topic.c_str(),
                                             partition.partition.raw(), broker),
          "leader of " + partition.topic);
}

void MockCluster::set_broker_down(std::int32_t broker) {
    check(rd_kafka_mock_broker_set_down(state_->cluster.get(), broker), "broker down");
}

void MockCluster::set_broker_up(std::int32_t broker) {
    check(rd_kafka_mock_broker_set_up(state_->cluster.get(), broker), "broker up");
}

void MockCluster::set_round_trip(std::int32_t broker, std::chrono::milliseconds duration) {
    check(rd_kafka_mock_broker_set_rtt(state_->cluster.get(), broker,
                                       static_cast<int>(duration.count())),
          "round trip");
}

void MockCluster::push_errors(Request request, std::span<const int> codes) {
    std::vector<rd_kafka_resp_err_t> errors;
    for (const int code : codes) errors.push_back(static_cast<rd_kafka_resp_err_t>(code));
    rd_kafka_mock_push_request_errors_array(
        state_->cluster.get(), static_cast<std::int16_t>(request), errors.size(), errors.data());
}

void MockCluster::keep_requests() { rd_kafka_mock_start_request_tracking(state_->cluster.get()); }

std::size_t MockCluster::received(Request request) const {
    std::size_t all = 0;
    rd_kafka_mock_request_t** requests = rd_kafka_mock_get_requests(state_->cluster.get(), &all);
    std::size_t found = 0;
    for (std::size_t i = 0; i < all; ++i) {
        if (rd_kafka_mock_request_api_key(requests[i]) == static_cast<std::int16_t>(request)) {
            ++found;
        }
    }
    rd_kafka_mock_request_destroy_array(requests, all);
    return found;
}

}  // namespace onceward
