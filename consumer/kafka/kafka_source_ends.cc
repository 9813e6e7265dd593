// Where the logs end, asked without ever waiting: for lag, not for retention.

#include "consumer/kafka/kafka_source_state.h"

namespace onceward {
namespace {

constexpr int ends_timeout_ms = 5000;

}  // namespace

std::optional<Offset> KafkaSource::fetched_end(const TopicPartition& partition) const {
    std::int64_t low = 0;
    std::int64_t high = 0;
    const rd_kafka_resp_err_t code = rd_kafka_get_watermark_offsets(
        state_->client.get(), partition.topic.c_str(), partition.partition.raw(), &low, &high);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR || high < 0) return std::nullopt;
    return Offset{high};
}

std::optional<Offset> KafkaSource::position(const TopicPartition& partition) const {
    const State::Topic* topic = state_->find(partition.topic);
    if (topic == nullptr) return std::nullopt;
    const auto found = topic->positions.find(partition.partition);
    if (found == topic->positions.end() || !found->second.open) return std::nullopt;
    return found->second.offset;
}

void KafkaSource::ask_for_ends(const std::vector<TopicPartition>& partitions) {
    if (partitions.empty()) return;
    if (!state_->ends) state_->ends.reset(rd_kafka_queue_new(state_->client.get()));
    const KafkaTopicPartitionList list(
        rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size())));
    for (const TopicPartition& partition : partitions) {
        rd_kafka_topic_partition_list_add(list.get(), partition.topic.c_str(),
                                          partition.partition.raw())
            ->offset = RD_KAFKA_OFFSET_SPEC_LATEST;
    }
    const KafkaAdminOptions options(
        rd_kafka_AdminOptions_new(state_->client.get(), RD_KAFKA_ADMIN_OP_LISTOFFSETS));
    std::array<char, 256> text{};
    rd_kafka_AdminOptions_set_request_timeout(options.get(), ends_timeout_ms, text.data(),
                                              text.size());
    rd_kafka_ListOffsets(state_->client.get(), list.get(), options.get(), state_->ends.get());
}

std::map<TopicPartition, Offset> KafkaSource::told_ends() {
    std::map<TopicPartition, Offset> ends;
    if (!state_->ends) return ends;
    while (const KafkaEvent event{rd_kafka_queue_poll(state_->ends.get(), 0)}) {
        // A broker that does not answer is reported elsewhere.
        if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
        std::size_t count = 0;
        const rd_kafka_ListOffsetsResultInfo_t** infos = rd_kafka_ListOffsets_result_infos(
            rd_kafka_event_ListOffsets_result(event.get()), &count);
        for (std::size_t i = 0; i < count; ++i) {
            const rd_kafka_topic_partition_t* end =
                rd_kafka_ListOffsetsResultInfo_topic_partition(infos[i]);
            if (end->err != RD_KAFKA_RESP_ERR_NO_ERROR || end->offset < 0) continue;
            ends[{end->topic, Partition{end->partition}}] = Offset{end->offset};
        }
    }
    return ends;
}

}  // namespace onceward
