#include "consumer/kafka/kafka_requests.h"

#include <array>

namespace onceward {

KafkaAdminOptions admin_options(rd_kafka_t* client, rd_kafka_admin_op_t operation) {
    KafkaAdminOptions options(rd_kafka_AdminOptions_new(client, operation));
    std::array<char, 256> text{};
    rd_kafka_AdminOptions_set_request_timeout(options.get(), query_timeout_ms, text.data(),
                                              text.size());
    return options;
}

KafkaTopicPartitionList list_of(const TopicPartition& partition, std::int64_t offset) {
    KafkaTopicPartitionList list(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(list.get(), partition.topic.c_str(),
                                      partition.partition.raw())
        ->offset = offset;
    return list;
}

std::vector<TopicPartition> to_vector(const rd_kafka_topic_partition_list_t* list) {
    std::vector<TopicPartition> partitions;
    for (int i = 0; i < list->cnt; ++i) {
        partitions.push_back({list->elems[i].topic, Partition{list->elems[i].partition}});
    }
    return partitions;
}

}  // namespace onceward
