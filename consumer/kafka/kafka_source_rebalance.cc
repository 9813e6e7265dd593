// The group's side of KafkaSource: assigned and revoked partitions, and the errors on the way.

#include <algorithm>
#include <array>

#include "consumer/kafka/kafka_source_state.h"
#include "dedup/base/logging.h"

namespace onceward {
namespace {

constexpr int resolve_timeout_ms = 2000;

}  // namespace

std::pair<KafkaSource::State::Topic*, KafkaSource::State::Position*> KafkaSource::State::find(
    const TopicPartition& partition) {
    const auto topic = std::ranges::find(topics, partition.topic, &Topic::name);
    if (topic == topics.end()) return {};
    const auto found = topic->positions.find(partition.partition);
    return {&*topic, found == topic->positions.end() ? nullptr : &found->second};
}

std::optional<Offset> KafkaSource::State::fetched_end(const TopicPartition& partition) const {
    std::int64_t low = 0;
    std::int64_t high = 0;
    const rd_kafka_resp_err_t code = rd_kafka_get_watermark_offsets(
        client.get(), partition.topic.c_str(), partition.partition.raw(), &low, &high);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR || high < 0) return std::nullopt;
    return Offset{high};
}

bool KafkaSource::State::cooperative() const {
    const char* protocol = rd_kafka_rebalance_protocol(client.get());
    return protocol != nullptr && std::string_view(protocol) == "COOPERATIVE";
}

void KafkaSource::State::rebalance(rd_kafka_resp_err_t code,
                                   rd_kafka_topic_partition_list_t* partitions) {
    try {
        if (code == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
            assign(partitions);
        } else {
            if (code != RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS) {
                log_error("kafka.rebalance_failed", {{"error", rd_kafka_err2str(code)}});
            }
            revoke(partitions);
        }
    } catch (const KafkaError& error) {
        // Do not throw through librdkafka's frames, which would be left half done: serve() throws
        // it.
        failed = error;
    }
}

// Sets each offset to the end of its log, as a number. Those that the brokers did not answer for
// stay at RD_KAFKA_OFFSET_END.
//
// DANGER: a number, not END. For END librdkafka asks the broker itself, and when a seek overtakes
// that question it asks once more half a second later and moves the position to the end: everything
// between the fence and the end of the log was skipped, without an error (seen with 2.14.2).
// INVALID ends in _AUTO_OFFSET_RESET and a partition in which no seek works; a paused partition
// loses a second when it is resumed.
void KafkaSource::State::resolve_ends(rd_kafka_topic_partition_list_t* partitions) const {
    for (int i = 0; i < partitions->cnt; ++i) partitions->elems[i].offset = RD_KAFKA_OFFSET_END;
    const KafkaTopicPartitionList ends(rd_kafka_topic_partition_list_copy(partitions));
    if (rd_kafka_offsets_for_times(client.get(), ends.get(), resolve_timeout_ms) !=
        RD_KAFKA_RESP_ERR_NO_ERROR) {
        return;
    }
    for (int i = 0; i < ends->cnt; ++i) {
        const rd_kafka_topic_partition_t& end = ends->elems[i];
        if (end.err == RD_KAFKA_RESP_ERR_NO_ERROR && end.offset >= 0) {
            partitions->elems[i].offset = end.offset;
        }
    }
}

// A record or PARTITION_EOF shows that librdkafka fetches, so its question for the end was
// answered. After _AUTO_OFFSET_RESET it has given up; it refuses all seeks, and begin() restarts
// it.
//
// DANGER: the length of the queue shows nothing. It also counts librdkafka's own entries, with
// which each assignment begins, and what an earlier assignment left (2.14.2). A seek that overtook
// the question lost what lay between the fence and the end of the log (seen in seed 70 of the
// campaign, after a leader had moved).
bool KafkaSource::State::knows_position(const std::string& topic, const Position& position) {
    std::array<rd_kafka_message_t*, 100> taken{};
    const ssize_t count =
        rd_kafka_consume_batch_queue(position.queue.get(), 0, taken.data(), taken.size());
    bool knows = false;
    for (ssize_t i = 0; i < count; ++i) {
        const KafkaMessage message(taken[static_cast<std::size_t>(i)]);
        switch (message->err) {
            case RD_KAFKA_RESP_ERR_NO_ERROR:
            case RD_KAFKA_RESP_ERR__PARTITION_EOF:
            case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET: knows = true; break;
            default: take_error(topic, *message);
        }
    }
    return knows;
}

// DANGER: an eager assignment replaces everything. If a leader sees that its topic has more
// partitions while an assignment of its own waits for this callback, librdkafka joins again without
// a revoke (2.14.2 and 2.15.0, rd_kafka_cgrp_revoke_all_rejoin). The worker would fight with the
// new owner for the partitions that the new assignment lacks, and each refused seek would end in a
// restart() of all others, which would then never be read (seen in seed 141 of the campaign).
void KafkaSource::State::give_back_all() {
    std::vector<TopicPartition> held;
    for (Topic& topic : topics) {
        for (auto& [partition, position] : topic.positions) {
            rd_kafka_queue_forward(position.queue.get(), nullptr);
            held.push_back({topic.name, partition});
        }
        topic.positions.clear();
    }
    if (held.empty()) return;
    log_warning("kafka.assigned_without_revoke", {{"partitions", held.size()}});
    listener.revoked(held, true);
}

// Never waits for PostgreSQL: each partition is assigned at once, and its queue stays unread until
// its fence is taken.
void KafkaSource::State::assign(rd_kafka_topic_partition_list_t* partitions) {
    const bool incremental = cooperative();
    if (!incremental) give_back_all();
    if (partitions->cnt > 0) resolve_ends(partitions);
    for (int i = 0; i < partitions->cnt; ++i) {
        const rd_kafka_topic_partition_t& element = partitions->elems[i];
        Topic* topic = find({element.topic, Partition{element.partition}}).first;
        if (topic == nullptr) continue;
        KafkaQueue queue(
            rd_kafka_queue_get_partition(client.get(), element.topic, element.partition));
        if (!queue) continue;
        rd_kafka_queue_forward(queue.get(), nullptr);
        Position position;
        position.queue = std::move(queue);
        position.settled = element.offset >= 0;
        topic->positions.insert_or_assign(Partition{element.partition}, std::move(position));
    }
    if (incremental) {
        check_kafka(rd_kafka_incremental_assign(client.get(), partitions), "assign");
    } else {
        check_kafka(rd_kafka_assign(client.get(), partitions), "assign");
    }
    listener.assigned(to_vector(partitions));
}

void KafkaSource::State::revoke(rd_kafka_topic_partition_list_t* partitions) {
    const bool incremental = cooperative();
    const bool lost = rd_kafka_assignment_lost(client.get()) != 0;
    const std::vector<TopicPartition> gone = to_vector(partitions);
    for (const TopicPartition& partition : gone) {
        const auto [topic, position] = find(partition);
        if (position == nullptr) continue;
        rd_kafka_queue_forward(position->queue.get(), nullptr);
        topic->positions.erase(partition.partition);
    }
    listener.revoked(gone, lost);
    if (incremental) {
        check_kafka(rd_kafka_incremental_unassign(client.get(), partitions), "unassign");
    } else {
        check_kafka(rd_kafka_assign(client.get(), nullptr), "unassign");
    }
}

// DANGER: after _AUTO_OFFSET_RESET librdkafka no longer fetches the partition and refuses every
// seek in it. Only a new assignment starts it again, at the end of its log, and the next begin()
// seeks from there. If it were assigned at the offset itself, it would fetch before that seek.
// Before a batch with a broken checksum it would then be out of range again: it takes the batch's
// own bytes for an offset (2.14.2). Members of the eager protocol assign all their partitions, each
// at the offset that reading has reached.
void KafkaSource::State::restart(const TopicPartition& partition) {
    const bool incremental = cooperative();
    rd_kafka_topic_partition_list_t* all = nullptr;
    if (incremental) {
        all = list_of(partition).release();
    } else if (rd_kafka_assignment(client.get(), &all) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        return;
    }
    const KafkaTopicPartitionList list(all);
    resolve_ends(list.get());
    for (int i = 0; i < list->cnt; ++i) {
        rd_kafka_topic_partition_t& element = list->elems[i];
        Position* position = find({element.topic, Partition{element.partition}}).second;
        if (position == nullptr) continue;
        if (position->open) element.offset = position->offset.raw();
        position->settled = element.offset >= 0;
    }
    const auto warn = [](const std::string& reason) {
        log_warning("kafka.restart_refused", {{"error", reason}});
    };
    if (incremental) {
        for (auto* const change : {rd_kafka_incremental_unassign, rd_kafka_incremental_assign}) {
            const KafkaErrorObject refused(change(client.get(), list.get()));
            if (refused) warn(rd_kafka_error_string(refused.get()));
        }
        return;
    }
    const rd_kafka_resp_err_t failed = rd_kafka_assign(client.get(), list.get());
    if (failed != RD_KAFKA_RESP_ERR_NO_ERROR) warn(rd_kafka_err2str(failed));
}

// DANGER: close the partition before anything else of it is taken. After a batch with a broken
// checksum librdkafka continues with the next one (2.14.2, check.crcs). The next message would move
// the span, and with it the fence, over the batch, which would be skipped silently.
void KafkaSource::State::stop_reading(const TopicPartition& partition, Position& position,
                                      const rd_kafka_message_t& error) {
    position.close();
    park(partition);
    const char* detail = rd_kafka_message_errstr(&error);
    listener.unreadable(
        {partition, position.offset, detail == nullptr ? rd_kafka_err2str(error.err) : detail});
}

// Seeks to the end of the log, where an unread partition waits. At the records, librdkafka would
// fetch them again and again, and without a pause if a checksum is broken.
void KafkaSource::State::park(const TopicPartition& partition) const {
    const std::optional<Offset> end = fetched_end(partition);
    if (!end || end->raw() == 0) return;
    // DANGER: a number, not END: see resolve_ends().
    const KafkaTopicPartitionList list = list_of(partition, end->raw());
    const KafkaErrorObject refused(rd_kafka_seek_partitions(client.get(), list.get(), 0));
}

void KafkaSource::State::take_error(const std::string& topic, const rd_kafka_message_t& message) {
    const TopicPartition partition{topic, Partition{message.partition}};
    const char* detail = rd_kafka_message_errstr(&message);
    switch (message.err) {
        case RD_KAFKA_RESP_ERR__PARTITION_EOF: return;
        case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
        case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE: listener.out_of_range(partition); return;
        default:  // librdkafka's list of codes is open; the listener judges by number.
            listener.partition_failed(partition, message.err, detail == nullptr ? "" : detail);
    }
}

}  // namespace onceward
