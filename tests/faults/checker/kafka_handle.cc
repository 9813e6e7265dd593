#include "tests/faults/checker/kafka_handle.h"

#include <array>
#include <stdexcept>

namespace onceward::checker {
namespace {

constexpr std::size_t longest_error = 512;

void set(rd_kafka_conf_t* configuration, const std::string& name, const std::string& value) {
    std::array<char, longest_error> error{};
    if (rd_kafka_conf_set(configuration, name.c_str(), value.c_str(), error.data(), error.size()) !=
        RD_KAFKA_CONF_OK) {
        throw std::runtime_error(std::string("Kafka: ") + error.data());
    }
}

}  // namespace

void throw_on_error(rd_kafka_resp_err_t error, const std::string& what) {
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return;
    throw std::runtime_error("Kafka: " + what + ": " + rd_kafka_err2str(error));
}

Consumer open_consumer(const KafkaSource& source, const std::string& isolation) {
    std::unique_ptr<rd_kafka_conf_t, DestroyWith<rd_kafka_conf_destroy>> configuration(
        rd_kafka_conf_new());
    for (const auto& [name, value] : source.properties) set(configuration.get(), name, value);
    set(configuration.get(), "bootstrap.servers", source.bootstrap_servers);
    set(configuration.get(), "group.id", source.consumer_group);
    set(configuration.get(), "isolation.level", isolation);
    set(configuration.get(), "enable.auto.commit", "false");
    set(configuration.get(), "enable.partition.eof", "true");
    set(configuration.get(), "auto.offset.reset", "error");
    set(configuration.get(), "allow.auto.create.topics", "false");
    // Its own lines on the standard error would stand between those of the report.
    set(configuration.get(), "log_level", "0");
    std::array<char, longest_error> error{};
    Consumer consumer(
        rd_kafka_new(RD_KAFKA_CONSUMER, configuration.get(), error.data(), error.size()));
    if (!consumer) throw std::runtime_error(std::string("Kafka: ") + error.data());
    static_cast<void>(configuration.release());  // the handle's own now
    rd_kafka_poll_set_consumer(consumer.get());
    return consumer;
}

int partition_count(rd_kafka_t* consumer, const std::string& topic,
                    std::chrono::milliseconds limit) {
    const std::unique_ptr<rd_kafka_topic_t, DestroyWith<rd_kafka_topic_destroy>> handle(
        rd_kafka_topic_new(consumer, topic.c_str(), nullptr));
    const rd_kafka_metadata_t* raw = nullptr;
    throw_on_error(
        rd_kafka_metadata(consumer, 0, handle.get(), &raw, static_cast<int>(limit.count())),
        "metadata of " + topic);
    const std::unique_ptr<const rd_kafka_metadata_t, DestroyWith<rd_kafka_metadata_destroy>>
        metadata(raw);
    if (metadata->topic_cnt != 1) throw std::runtime_error("Kafka: no topic " + topic);
    throw_on_error(metadata->topics[0].err, "topic " + topic);
    return metadata->topics[0].partition_cnt;
}

std::pair<std::int64_t, std::int64_t> range_of(rd_kafka_t* consumer, const std::string& topic,
                                               int partition, std::chrono::milliseconds limit) {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    throw_on_error(rd_kafka_query_watermark_offsets(consumer, topic.c_str(), partition, &begin,
                                                    &end, static_cast<int>(limit.count())),
                   "range of " + topic);
    return {begin, end};
}

}  // namespace onceward::checker
