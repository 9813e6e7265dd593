#include "consumer/kafka/kafka_source.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "consumer/kafka/kafka_source_state.h"
#include "dedup/base/logging.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr int seek_timeout_ms = 300;
// A member that has not left its group after this time joins it again anyway.
constexpr auto leave_limit = 5s;
// This many failed seeks in a row mean that librdkafka does not fetch the partition at all.
constexpr int seeks_before_restart = 20;

// librdkafka's limit is for one queue, and each topic has one. Without shares, a worker with many
// topics would hold that much memory for each of them.
KafkaOptions with_shares(KafkaOptions options, std::size_t topics) {
    const std::size_t share =
        std::max(queued_kilobytes / std::max<std::size_t>(topics, 1), queued_kilobytes_each);
    options.properties.try_emplace("queued.max.messages.kbytes", Secret(std::to_string(share)));
    return options;
}

// A span says where this reading began, and the fence is compared with that. Only the reader polls
// and seeks.
Span& span_of(Chunk& chunk, Partition partition, Offset begin) {
    const auto known = std::ranges::find(chunk.spans, partition, &Span::partition);
    if (known != chunk.spans.end()) return *known;
    return chunk.spans.emplace_back(Span{partition, begin, begin, LeaderEpoch{-1}});
}

}  // namespace

KafkaSource::KafkaSource(const KafkaOptions& options, int worker, std::vector<std::string> topics,
                         SourceListener& listener)
    : state_(std::make_unique<State>(listener)) {
    state_->bootstrap_servers = options.bootstrap_servers;
    state_->group = options.group;
    state_->callbacks.rebalance = [state = state_.get()](
                                      rd_kafka_resp_err_t code,
                                      rd_kafka_topic_partition_list_t* partitions) {
        state->rebalance(code, partitions);
    };
    state_->callbacks.error = [state = state_.get()](int code, const std::string& reason) {
        const KafkaError error(code, reason);
        if (not_authenticated(error) || tls_failed(error)) state->refusal = error;
    };
    state_->client = make_consumer(with_shares(options, topics.size()), worker, &state_->callbacks);

    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
        throw KafkaError(RD_KAFKA_RESP_ERR__FAIL, "no pipe could be opened");
    }
    state_->wake_read = ends[0];
    state_->wake_write = ends[1];
    if (topics.empty()) return;
    state_->asking = make_consumer(options, worker, nullptr);
    for (std::string& name : topics) {
        State::Topic topic{
            std::move(name), KafkaQueue(rd_kafka_queue_new(state_->client.get())), {}};
        rd_kafka_queue_io_event_enable(topic.queue.get(), state_->wake_write, "q", 1);
        state_->topics.push_back(std::move(topic));
    }
    const KafkaQueue events(rd_kafka_queue_get_consumer(state_->client.get()));
    rd_kafka_queue_io_event_enable(events.get(), state_->wake_write, "e", 1);
}

void KafkaSource::join() { state_->subscribe(); }

KafkaSource::~KafkaSource() {
    close();
    for (State::Topic& topic : state_->topics) {
        rd_kafka_queue_io_event_enable(topic.queue.get(), -1, nullptr, 0);
        topic.positions.clear();
        topic.queue.reset();
    }
    state_->ends = {};
    state_->group_question = {};
    state_->asking.reset();
    state_->client.reset();
    ::close(state_->wake_read);
    ::close(state_->wake_write);
}

void KafkaSource::serve() {
    while (KafkaMessage message{rd_kafka_consumer_poll(state_->client.get(), 0)}) {
        const char* topic = message->rkt == nullptr ? "" : rd_kafka_topic_name(message->rkt);
        if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) state_->take_error(topic, *message);
    }
    // Its errors are those of the other client. Left in its queue they would accumulate.
    while (state_->asking && KafkaMessage{rd_kafka_consumer_poll(state_->asking.get(), 0)}) {
    }
    if (state_->failed) throw KafkaError(*std::exchange(state_->failed, std::nullopt));
    std::array<char, 512> text{};
    const rd_kafka_resp_err_t fatal =
        rd_kafka_fatal_error(state_->client.get(), text.data(), text.size());
    check_kafka(fatal, text.data());
    state_->join_again();
}

std::optional<KafkaError> KafkaSource::refusal() const { return state_->refusal; }

void KafkaSource::bootstrap_again() {
    for (const KafkaClient* client : {&state_->client, &state_->asking}) {
        if (*client) rd_kafka_brokers_add(client->get(), state_->bootstrap_servers.c_str());
    }
}

void KafkaSource::wait(std::chrono::milliseconds timeout) {
    pollfd waiting{state_->wake_read, POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(timeout.count())) <= 0) return;
    std::array<char, 256> ignored{};
    while (::read(state_->wake_read, ignored.data(), ignored.size()) > 0) {
    }
}

void KafkaSource::wake() {
    // A full pipe means that a wake-up is already on its way.
    [[maybe_unused]] const ssize_t written = ::write(state_->wake_write, "w", 1);
}

bool KafkaSource::begin(const TopicPartition& partition, Offset offset, LeaderEpoch leader_epoch) {
    const auto [topic, held] = state_->find(partition);
    if (held == nullptr) return false;
    State::Position& position = *held;
    position.close();
    if (!position.settled) position.settled = state_->knows_position(partition.topic, position);
    if (!position.settled) return false;
    if (position.stopped || position.failed_seeks >= seeks_before_restart) {
        state_->restart(partition);
        position.stopped = false;
        position.failed_seeks = 0;
        return false;
    }
    const KafkaTopicPartitionList list = list_of(partition, offset.raw());
    rd_kafka_topic_partition_t* wanted = &list->elems[0];
    // With the epoch librdkafka validates the position after an unclean election (KIP-320).
    if (leader_epoch.raw() >= 0) {
        rd_kafka_topic_partition_set_leader_epoch(wanted, leader_epoch.raw());
    }
    KafkaErrorObject error(
        rd_kafka_seek_partitions(state_->client.get(), list.get(), seek_timeout_ms));
    if (error || wanted->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        ++position.failed_seeks;
        return false;
    }
    position.failed_seeks = 0;
    position.offset = offset;
    position.open = true;
    rd_kafka_queue_forward(position.queue.get(), topic->queue.get());
    return true;
}

void KafkaSource::end(const TopicPartition& partition) {
    State::Position* position = state_->find(partition).second;
    if (position != nullptr) position->close();
}

Chunk KafkaSource::read(std::size_t topic_index, std::size_t messages, MessageBuilder& intake) {
    Chunk chunk;
    State::Topic& topic = state_->topics[topic_index];
    std::vector<rd_kafka_message_t*> fetched(messages);
    const ssize_t count =
        rd_kafka_consume_batch_queue(topic.queue.get(), 0, fetched.data(), fetched.size());
    chunk.messages.reserve(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    for (ssize_t i = 0; i < count; ++i) {
        state_->take_message(topic, KafkaMessage(fetched[static_cast<std::size_t>(i)]), intake,
                             chunk);
    }
    return chunk;
}

void KafkaSource::State::take_message(Topic& topic, KafkaMessage message, MessageBuilder& intake,
                                      Chunk& chunk) {
    const auto found = topic.positions.find(Partition{message->partition});
    if (found == topic.positions.end() || !found->second.open) return;
    Position& position = found->second;
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR &&
        message->err != RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        if (records_unreadable(message->err)) {
            stop_reading({topic.name, found->first}, position, *message);
            return;
        }
        if (message->err == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET) position.stopped = true;
        take_error(topic.name, *message);
        return;
    }
    // At the end of the partition the position moves over control records and what compaction has
    // removed.
    const bool end_of_partition = message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
    const Offset end = end_of_partition ? Offset{message->offset} : next(Offset{message->offset});
    if (end <= position.offset) {
        if (!end_of_partition) ++below_fence;
        return;
    }
    // DANGER: PARTITION_EOF carries no leader epoch, and the epoch at this offset may be newer than
    // the last record's. A seek with the old epoch would look like one into a truncated log, so
    // store "unknown".
    LeaderEpoch leader_epoch{-1};
    if (!end_of_partition) {
        Record record = to_record(std::move(message), chunk.arena.get());
        leader_epoch = record.leader_epoch;
        const Offset offset = record.offset;
        if (auto awaited = intake.take(std::move(record), chunk)) {
            stop_before({{topic.name, found->first}, offset, leader_epoch, std::move(*awaited)},
                        position);
            return;
        }
    }
    Span& span = span_of(chunk, found->first, position.offset);
    span.end = end;
    span.leader_epoch = leader_epoch;
    position.offset = end;
}

// DANGER: close the partition before anything else of it is taken, and move neither position nor
// span. A later message would move the fence over this one, which would be skipped silently.
void KafkaSource::State::stop_before(const AwaitedRecord& record, Position& position) const {
    position.close();
    listener.awaits_schema(record);
}

std::int64_t KafkaSource::below_fence() const { return state_->below_fence; }

void KafkaSource::close() {
    if (state_->closed || !state_->client) return;
    state_->closed = true;
    rd_kafka_consumer_close(state_->client.get());
}

std::string offset_mark(const std::string& incarnation) { return "onceward:" + incarnation; }
bool is_our_mark(const std::string& metadata) { return metadata.starts_with("onceward:"); }

std::optional<Offset> KafkaSource::fetched_end(const TopicPartition& partition) const {
    return state_->fetched_end(partition);
}

std::optional<Offset> KafkaSource::position(const TopicPartition& partition) const {
    const State::Position* position = state_->find(partition).second;
    if (position == nullptr || !position->open) return std::nullopt;
    return position->offset;
}

void KafkaSource::ask_for_ends(const std::vector<TopicPartition>& partitions) {
    state_->ends.ask(state_->client.get(), partitions);
}

std::map<TopicPartition, Offset> KafkaSource::told_ends() { return state_->ends.told(); }

BrokerQueries KafkaSource::queries() const {
    return BrokerQueries((state_->asking ? state_->asking : state_->client).get());
}

void KafkaSource::ask_for_group() {
    std::vector<const char*> names;
    for (const State::Topic& topic : state_->topics) names.push_back(topic.name.c_str());
    state_->group_question.ask(state_->client.get(), state_->group, names);
}

std::optional<GroupSight> KafkaSource::told_group() {
    return state_->group_question.told(state_->client.get());
}

// The member leaves, and joins as a new one. The broker removes a static member from the group on
// LeaveGroup, which causes a rebalance whether it was the leader or a follower; librdkafka sends it
// when a static member unsubscribes, though not when it closes. Nothing less is enough in a Stable
// group: rd_kafka_subscribe() with the same topics is no change for a cooperative member and sends
// nothing, and a JoinGroup causes a rebalance only if the leader sends it, or a follower with other
// metadata than before. A member that returned does not learn who leads (KIP-814).
void KafkaSource::rejoin() {
    if (state_->rejoin_by) return;
    check_kafka(rd_kafka_unsubscribe(state_->client.get()), "unsubscribe");
    state_->rejoin_by = std::chrono::steady_clock::now() + leave_limit;
}

// DANGER: subscribe only after the member has left, which removes its id. librdkafka (2.14.2)
// leaves when the last partition is revoked, and only if no new subscription waits then: if we
// subscribed at once, it would join as the member that it was. An unsubscribe() during a rebalance
// may never be carried out; that rebalance then has the same effect.
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
    check_kafka(rd_kafka_subscribe(client.get(), subscription.get()), "subscribe");
}

void KafkaSource::commit_through(std::span<const CommittedOffset> offsets, bool wait) {
    if (offsets.empty()) return;
    KafkaTopicPartitionList list(
        rd_kafka_topic_partition_list_new(static_cast<int>(offsets.size())));
    for (const CommittedOffset& committed : offsets) {
        rd_kafka_topic_partition_t* element =
            add_to(list, committed.partition, committed.offset.raw());
        if (committed.leader_epoch.raw() >= 0) {
            rd_kafka_topic_partition_set_leader_epoch(element, committed.leader_epoch.raw());
        }
        // librdkafka frees the metadata with the list, by rd_free() alias free(), so strdup() makes
        // it.
        const std::string mark = offset_mark(committed.incarnation);
        element->metadata = strdup(mark.c_str());
        element->metadata_size = mark.size();
    }
    const rd_kafka_resp_err_t code =
        rd_kafka_commit(state_->client.get(), list.get(), wait ? 0 : 1);
    if (wait && code != RD_KAFKA_RESP_ERR_NO_ERROR && code != RD_KAFKA_RESP_ERR__NO_OFFSET) {
        log_warning("kafka.offset_commit_failed",
                    {{"code", static_cast<int>(code)}, {"error", rd_kafka_err2str(code)}});
    }
}

}  // namespace onceward
