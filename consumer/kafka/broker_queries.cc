#include "consumer/kafka/broker_queries.h"

#include <algorithm>

#include "consumer/kafka/kafka_error.h"
#include "consumer/kafka/kafka_requests.h"

namespace onceward {
namespace {

// Waits for the answer of an admin request on a queue of its own.
KafkaEvent answer(rd_kafka_queue_t* queue, const char* what) {
    KafkaEvent event(rd_kafka_queue_poll(queue, query_timeout_ms * 2));
    if (!event) throw_kafka(RD_KAFKA_RESP_ERR__TIMED_OUT, what);
    check_kafka(rd_kafka_event_error(event.get()), what);
    return event;
}

std::string cluster_id(rd_kafka_t* client) {
    const KafkaString cluster(rd_kafka_clusterid(client, query_timeout_ms));
    if (!cluster) throw_kafka(RD_KAFKA_RESP_ERR__TIMED_OUT, "cluster id");
    return cluster.get();
}

// The metadata of one topic, or of all topics if it is null.
KafkaMetadata metadata_of(rd_kafka_t* client, rd_kafka_topic_t* topic, const std::string& what) {
    const rd_kafka_metadata_t* raw = nullptr;
    check_kafka(rd_kafka_metadata(client, topic == nullptr ? 1 : 0, topic, &raw, query_timeout_ms),
                what);
    return KafkaMetadata(raw);
}

// librdkafka's mock cluster has no admin requests: one would only end after a time-out, without an
// answer.
bool is_mock(const std::string& cluster) { return cluster.starts_with("mockCluster"); }

}  // namespace

std::optional<GroupOffset> BrokerQueries::group_offset(const TopicPartition& partition) const {
    const KafkaTopicPartitionList list = list_of(partition);
    // DANGER: an error does not mean "no offset". If it did, a group would start over and process
    // everything again, or nothing.
    check_kafka(rd_kafka_committed(client_, list.get(), query_timeout_ms), "committed offset");
    const rd_kafka_topic_partition_t& element = list->elems[0];
    check_kafka(element.err, "committed offset");
    if (element.offset < 0) return std::nullopt;
    GroupOffset found{Offset{element.offset},
                      LeaderEpoch{rd_kafka_topic_partition_get_leader_epoch(&element)}, ""};
    if (element.metadata != nullptr) {
        found.metadata.assign(static_cast<const char*>(element.metadata), element.metadata_size);
    }
    return found;
}

LogRange BrokerQueries::range(const TopicPartition& partition) const {
    std::int64_t low = 0;
    std::int64_t high = 0;
    check_kafka(
        rd_kafka_query_watermark_offsets(client_, partition.topic.c_str(),
                                         partition.partition.raw(), &low, &high, query_timeout_ms),
        "range of " + partition.topic);
    return {Offset{low}, Offset{high}};
}

Offset BrokerQueries::offset_at(const TopicPartition& partition,
                                std::chrono::milliseconds timestamp) const {
    const KafkaTopicPartitionList list = list_of(partition, timestamp.count());
    check_kafka(rd_kafka_offsets_for_times(client_, list.get(), query_timeout_ms),
                "offset at a time");
    check_kafka(list->elems[0].err, "offset at a time");
    return list->elems[0].offset < 0 ? range(partition).latest : Offset{list->elems[0].offset};
}

std::vector<std::string> BrokerQueries::broker_addresses(std::chrono::milliseconds most) const {
    const rd_kafka_metadata_t* raw = nullptr;
    const int limit = static_cast<int>(most.count());
    check_kafka(rd_kafka_metadata(client_, 0, nullptr, &raw, limit), "brokers");
    const KafkaMetadata metadata(raw);
    std::vector<std::string> addresses;
    for (int i = 0; i < metadata->broker_cnt; ++i) {
        const rd_kafka_metadata_broker& broker = metadata->brokers[i];
        addresses.push_back(std::string(broker.host) + ":" + std::to_string(broker.port));
    }
    return addresses;
}

std::optional<std::chrono::milliseconds> BrokerQueries::latest_timestamp(
    const std::string& topic) const {
    const int partitions = partition_count(topic);
    if (partitions == 0 || is_mock(cluster_id(client_))) return std::nullopt;
    const KafkaTopicPartitionList list(rd_kafka_topic_partition_list_new(partitions));
    for (int i = 0; i < partitions; ++i) {
        add_to(list, {topic, Partition{i}}, RD_KAFKA_OFFSET_SPEC_MAX_TIMESTAMP);
    }
    const KafkaQueue queue(rd_kafka_queue_new(client_));
    const KafkaAdminOptions options = admin_options(client_, RD_KAFKA_ADMIN_OP_LISTOFFSETS);
    rd_kafka_ListOffsets(client_, list.get(), options.get(), queue.get());
    const KafkaEvent event = answer(queue.get(), "latest time of topic");
    std::size_t count = 0;
    const rd_kafka_ListOffsetsResultInfo_t** infos = rd_kafka_ListOffsets_result_infos(
        rd_kafka_event_ListOffsets_result(event.get()), &count);
    std::optional<std::chrono::milliseconds> latest;
    for (std::size_t i = 0; i < count; ++i) {
        const std::chrono::milliseconds time(rd_kafka_ListOffsetsResultInfo_timestamp(infos[i]));
        if (time.count() >= 0) latest = std::max(latest.value_or(time), time);
    }
    return latest;
}

std::optional<Offset> BrokerQueries::high_watermark(const TopicPartition& partition) const {
    const KafkaQueue queue(rd_kafka_queue_new(client_));
    const KafkaTopicPartitionList list = list_of(partition, RD_KAFKA_OFFSET_SPEC_LATEST);
    const KafkaAdminOptions options = admin_options(client_, RD_KAFKA_ADMIN_OP_LISTOFFSETS);
    // DANGER: read_uncommitted. With isolation.level the answer is the last stable offset, and
    // acknowledged messages may lie after it. A watermark taken from it would let the retention of
    // their claims run out.
    const KafkaErrorObject refused(rd_kafka_AdminOptions_set_isolation_level(
        options.get(), RD_KAFKA_ISOLATION_LEVEL_READ_UNCOMMITTED));
    rd_kafka_ListOffsets(client_, list.get(), options.get(), queue.get());
    const KafkaEvent event = answer(queue.get(), "end of the log");
    const rd_kafka_ListOffsets_result_t* result = rd_kafka_event_ListOffsets_result(event.get());
    std::size_t count = 0;
    const rd_kafka_ListOffsetsResultInfo_t** infos =
        rd_kafka_ListOffsets_result_infos(result, &count);
    if (count != 1) return std::nullopt;
    const rd_kafka_topic_partition_t* found =
        rd_kafka_ListOffsetsResultInfo_topic_partition(infos[0]);
    check_kafka(found->err, "end of the log");
    if (found->offset < 0) return std::nullopt;
    return Offset{found->offset};
}

std::map<std::string, std::string> BrokerQueries::topic_properties(const std::string& topic) const {
    std::map<std::string, std::string> properties;
    if (is_mock(cluster_id(client_))) return properties;
    const KafkaConfigResource resource(
        rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
    rd_kafka_ConfigResource_t* wanted[] = {resource.get()};
    const KafkaQueue queue(rd_kafka_queue_new(client_));
    const KafkaAdminOptions options = admin_options(client_, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS);
    rd_kafka_DescribeConfigs(client_, wanted, 1, options.get(), queue.get());
    const KafkaEvent event = answer(queue.get(), "properties of topic");
    std::size_t count = 0;
    const rd_kafka_ConfigResource_t** found = rd_kafka_DescribeConfigs_result_resources(
        rd_kafka_event_DescribeConfigs_result(event.get()), &count);
    if (count != 1) throw_kafka(RD_KAFKA_RESP_ERR__BAD_MSG, "properties of topic " + topic);
    check_kafka(rd_kafka_ConfigResource_error(found[0]), "properties of topic " + topic);
    const rd_kafka_ConfigEntry_t** entries = rd_kafka_ConfigResource_configs(found[0], &count);
    for (std::size_t i = 0; i < count; ++i) {
        const char* value = rd_kafka_ConfigEntry_value(entries[i]);
        if (value != nullptr) properties[rd_kafka_ConfigEntry_name(entries[i])] = value;
    }
    return properties;
}

int BrokerQueries::partition_count(const std::string& topic) const {
    const KafkaTopic handle(rd_kafka_topic_new(client_, topic.c_str(), nullptr));
    const KafkaMetadata metadata = metadata_of(client_, handle.get(), "partitions of " + topic);
    if (metadata->topic_cnt != 1 || metadata->topics[0].err != RD_KAFKA_RESP_ERR_NO_ERROR) return 0;
    return metadata->topics[0].partition_cnt;
}

std::vector<std::string> BrokerQueries::topic_names() const {
    const KafkaMetadata metadata = metadata_of(client_, nullptr, "names of the topics");
    std::vector<std::string> names;
    for (int i = 0; i < metadata->topic_cnt; ++i) names.emplace_back(metadata->topics[i].topic);
    return names;
}

LogIdentity BrokerQueries::identity(const std::string& topic) const {
    LogIdentity identity;
    identity.cluster_id = cluster_id(client_);
    if (is_mock(identity.cluster_id)) return identity;
    const char* names[] = {topic.c_str()};
    const KafkaTopicCollection topics(rd_kafka_TopicCollection_of_topic_names(names, 1));
    const KafkaQueue queue(rd_kafka_queue_new(client_));
    const KafkaAdminOptions options = admin_options(client_, RD_KAFKA_ADMIN_OP_DESCRIBETOPICS);
    rd_kafka_DescribeTopics(client_, topics.get(), options.get(), queue.get());
    // DANGER: an error is not 'unknown'. An unknown id agrees with any, and a topic that was made
    // again would be taken for the old one.
    const KafkaEvent event = answer(queue.get(), "id of topic");
    std::size_t count = 0;
    const rd_kafka_TopicDescription_t** found = rd_kafka_DescribeTopics_result_topics(
        rd_kafka_event_DescribeTopics_result(event.get()), &count);
    if (count != 1) throw_kafka(RD_KAFKA_RESP_ERR__BAD_MSG, "id of topic " + topic);
    const rd_kafka_error_t* error = rd_kafka_TopicDescription_error(found[0]);
    if (error != nullptr) check_kafka(rd_kafka_error_code(error), "id of topic " + topic);
    const rd_kafka_Uuid_t* id = rd_kafka_TopicDescription_topic_id(found[0]);
    const bool none = id == nullptr || (rd_kafka_Uuid_most_significant_bits(id) == 0 &&
                                        rd_kafka_Uuid_least_significant_bits(id) == 0);
    if (!none) identity.topic_id = rd_kafka_Uuid_base64str(id);  // Brokers before 2.8 know none.
    return identity;
}

}  // namespace onceward
