// What a member asks the brokers without ever waiting: about its group, and where the logs end.

#include <utility>

#include "consumer/kafka/kafka_source_state.h"

namespace onceward {
namespace {

// DANGER: the longest that librdkafka allows. If it gives up a request that waits for the group's
// coordinator, it uses freed memory once the coordinator is back, and may crash (2.14 and 2.15; its
// pull request 5397). While the request waits, librdkafka looks for the coordinator by itself. Once
// it was sent, it ends after socket.timeout.ms.
constexpr int coordinator_timeout_ms = 3'600'000;

// Whether a description came with an error: it may be null, or mean no error.
bool has_error(const rd_kafka_error_t* error) {
    return error != nullptr && rd_kafka_error_code(error) != RD_KAFKA_RESP_ERR_NO_ERROR;
}

bool take_topics(rd_kafka_event_t* event, GroupSight& sight) {
    std::size_t count = 0;
    const rd_kafka_TopicDescription_t** topics =
        rd_kafka_DescribeTopics_result_topics(rd_kafka_event_DescribeTopics_result(event), &count);
    for (std::size_t i = 0; i < count; ++i) {
        if (has_error(rd_kafka_TopicDescription_error(topics[i]))) return false;
        std::size_t partitions = 0;
        rd_kafka_TopicDescription_partitions(topics[i], &partitions);
        sight.partitions[rd_kafka_TopicDescription_name(topics[i])] = static_cast<int>(partitions);
    }
    return true;
}

bool take_members(rd_kafka_event_t* event, const std::string& myself, GroupSight& sight) {
    std::size_t count = 0;
    const rd_kafka_ConsumerGroupDescription_t** groups =
        rd_kafka_DescribeConsumerGroups_result_groups(
            rd_kafka_event_DescribeConsumerGroups_result(event), &count);
    if (count != 1 || has_error(rd_kafka_ConsumerGroupDescription_error(groups[0]))) return false;
    bool is_member = false;
    const std::size_t members = rd_kafka_ConsumerGroupDescription_member_count(groups[0]);
    for (std::size_t i = 0; i < members; ++i) {
        const rd_kafka_MemberDescription_t* member =
            rd_kafka_ConsumerGroupDescription_member(groups[0], i);
        is_member = is_member || myself == rd_kafka_MemberDescription_consumer_id(member);
        const rd_kafka_MemberAssignment_t* assignment =
            rd_kafka_MemberDescription_assignment(member);
        if (assignment == nullptr) continue;
        const rd_kafka_topic_partition_list_t* list =
            rd_kafka_MemberAssignment_partitions(assignment);
        if (list == nullptr) continue;
        for (TopicPartition& partition : to_vector(list)) sight.owned.insert(std::move(partition));
    }
    sight.settled = is_member && rd_kafka_ConsumerGroupDescription_state(groups[0]) ==
                                     RD_KAFKA_CONSUMER_GROUP_STATE_STABLE;
    return true;
}

}  // namespace

std::string member_id(rd_kafka_t* client) {
    const KafkaString id(rd_kafka_memberid(client));
    return id ? id.get() : "";
}

void GroupQuestion::ask(rd_kafka_t* client, const std::string& group,
                        const std::vector<const char*>& topics) {
    // Two questions at the same time would be one check, not two.
    if (answers_due_ > 0) return;
    if (!answers_) answers_.reset(rd_kafka_queue_new(client));
    sight_ = GroupSight{};
    failed_ = false;
    answers_due_ = 2;
    std::vector<const char*> names = topics;
    const KafkaTopicCollection collection(
        rd_kafka_TopicCollection_of_topic_names(names.data(), names.size()));
    rd_kafka_DescribeTopics(client, collection.get(),
                            admin_options(client, RD_KAFKA_ADMIN_OP_DESCRIBETOPICS).get(),
                            answers_.get());
    const char* groups[] = {group.c_str()};
    const KafkaAdminOptions options =
        admin_options(client, RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS, coordinator_timeout_ms);
    rd_kafka_DescribeConsumerGroups(client, groups, 1, options.get(), answers_.get());
}

std::optional<GroupSight> GroupQuestion::told(rd_kafka_t* client) {
    if (answers_due_ == 0) return std::nullopt;
    while (const KafkaEvent event{rd_kafka_queue_poll(answers_.get(), 0)}) {
        --answers_due_;
        // A broker that does not answer is reported elsewhere.
        if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
            failed_ = true;
        } else if (rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_DESCRIBETOPICS_RESULT) {
            failed_ = !take_topics(event.get(), sight_) || failed_;
        } else {
            failed_ = !take_members(event.get(), member_id(client), sight_) || failed_;
        }
    }
    if (answers_due_ > 0 || failed_) return std::nullopt;
    return std::move(sight_);
}

void LogEnds::ask(rd_kafka_t* client, const std::vector<TopicPartition>& partitions) {
    if (partitions.empty()) return;
    if (!answers_) answers_.reset(rd_kafka_queue_new(client));
    const KafkaTopicPartitionList list(
        rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size())));
    for (const TopicPartition& partition : partitions) {
        add_to(list, partition, RD_KAFKA_OFFSET_SPEC_LATEST);
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
