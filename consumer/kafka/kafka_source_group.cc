// The group as the brokers describe it, asked without ever waiting, and the way out of it and back.

#include "consumer/kafka/kafka_source_state.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr int group_timeout_ms = 5000;
constexpr auto leave_limit = 5s;

KafkaAdminOptions group_question(rd_kafka_t* client, rd_kafka_admin_op_t operation) {
    KafkaAdminOptions options(rd_kafka_AdminOptions_new(client, operation));
    std::array<char, 256> text{};
    rd_kafka_AdminOptions_set_request_timeout(options.get(), group_timeout_ms, text.data(),
                                              text.size());
    return options;
}

// An error that comes with a description, or none.
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

std::string member_id(rd_kafka_t* client) {
    const KafkaString id(rd_kafka_memberid(client));
    return id ? id.get() : "";
}

}  // namespace

void KafkaSource::ask_for_group() {
    State::GroupQuestion& asked = state_->group_question;
    // Two answers that come together would be one look.
    if (asked.answers_due > 0) return;
    rd_kafka_t* client = state_->client.get();
    if (!asked.answers) asked.answers.reset(rd_kafka_queue_new(client));
    asked.sight = GroupSight{};
    asked.failed = false;
    asked.answers_due = 2;
    std::vector<const char*> names;
    for (const State::Topic& topic : state_->topics) names.push_back(topic.name.c_str());
    const KafkaTopicCollection topics(
        rd_kafka_TopicCollection_of_topic_names(names.data(), names.size()));
    rd_kafka_DescribeTopics(client, topics.get(),
                            group_question(client, RD_KAFKA_ADMIN_OP_DESCRIBETOPICS).get(),
                            asked.answers.get());
    const char* groups[] = {state_->group.c_str()};
    rd_kafka_DescribeConsumerGroups(
        client, groups, 1, group_question(client, RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS).get(),
        asked.answers.get());
}

std::optional<GroupSight> KafkaSource::told_group() {
    State::GroupQuestion& asked = state_->group_question;
    if (asked.answers_due == 0) return std::nullopt;
    while (const KafkaEvent event{rd_kafka_queue_poll(asked.answers.get(), 0)}) {
        --asked.answers_due;
        // A broker that does not answer is reported elsewhere.
        if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
            asked.failed = true;
        } else if (rd_kafka_event_type(event.get()) == RD_KAFKA_EVENT_DESCRIBETOPICS_RESULT) {
            asked.failed = !take_topics(event.get(), asked.sight) || asked.failed;
        } else {
            const std::string myself = member_id(state_->client.get());
            asked.failed = !take_members(event.get(), myself, asked.sight) || asked.failed;
        }
    }
    if (asked.answers_due > 0 || asked.failed) return std::nullopt;
    return std::move(asked.sight);
}

// The member leaves, and joins as a new one. The broker removes a static member from the group on
// LeaveGroup, which causes a rebalance whether it was the leader or a follower; librdkafka sends it
// when a static member unsubscribes, though not when it closes. Less does not suffice in a Stable
// group: rd_kafka_subscribe() with the same topics is no change for a cooperative member and sends
// nothing, and a JoinGroup causes a rebalance only if the leader sends it, or a follower with other
// metadata than before. A member that returned does not learn who leads (KIP-814).
void KafkaSource::rejoin() {
    if (state_->rejoin_by) return;
    const rd_kafka_resp_err_t code = rd_kafka_unsubscribe(state_->client.get());
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) throw_kafka(code, "unsubscribe");
    state_->rejoin_by = std::chrono::steady_clock::now() + leave_limit;
}

// DANGER: not before the member has left, which takes its id away. librdkafka (2.14.2) leaves when
// the last partition is revoked, and only where no new subscription waits by then: subscribed at
// once, it would join as the member that it was. An unsubscribe() that met a rebalance may never be
// carried out; that rebalance has done its work.
void KafkaSource::State::join_again() {
    if (!rejoin_by) return;
    const bool left = member_id(client.get()).empty();
    if (!left && std::chrono::steady_clock::now() < *rejoin_by) return;
    rejoin_by.reset();
    subscribe();
}

void KafkaSource::State::subscribe() const {
    const KafkaTopicPartitionList subscription(
        rd_kafka_topic_partition_list_new(static_cast<int>(topics.size())));
    for (const Topic& topic : topics) {
        rd_kafka_topic_partition_list_add(subscription.get(), topic.name.c_str(),
                                          RD_KAFKA_PARTITION_UA);
    }
    const rd_kafka_resp_err_t code = rd_kafka_subscribe(client.get(), subscription.get());
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) throw_kafka(code, "subscribe");
}

}  // namespace onceward
