#include "consumer/kafka/log_ends.h"

#include "consumer/kafka/kafka_requests.h"

namespace onceward {

void LogEnds::ask(rd_kafka_t* client, const std::vector<TopicPartition>& partitions) {
    if (partitions.empty()) return;
    if (!answers_) answers_.reset(rd_kafka_queue_new(client));
    const KafkaTopicPartitionList list(
        rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size())));
    for (const TopicPartition& partition : partitions) {
        rd_kafka_topic_partition_list_add(list.get(), partition.topic.c_str(),
                                          partition.partition.raw())
            ->offset = RD_KAFKA_OFFSET_SPEC_LATEST;
    }
    const KafkaAdminOptions options = admin_options(client, RD_KAFKA_ADMIN_OP_LISTOFFSETS);
    rd_kafka_ListOffsets(client, list.get(), options.get(), answers_.get());
}

std::map<TopicPartition, Offset> LogEnds::told() {
    std::map<TopicPartition, Offset> ends;
    if (!answers_) return ends;
    while (const KafkaEvent event{rd_kafka_queue_poll(answers_.get(), 0)}) {
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
