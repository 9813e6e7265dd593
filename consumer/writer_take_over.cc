// How the writer takes the fence of a partition, before a message of it is read.

#include <algorithm>

#include "consumer/partitions/first_position.h"
#include "consumer/writer.h"
#include "dedup/base/logging.h"
#include "dedup/base/mutants.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr auto kafka_pause = 1s;
constexpr auto locked_pause = 500ms;

std::string moved_keys(int now, int fixed) {
    return "the topic has " + std::to_string(now) +
           " partitions now, and its ledger, with `reach: partition`, began with " +
           std::to_string(fixed) +
           ": keys may have moved, and their duplicates would be applied. Write `reach: global`";
}

}  // namespace

LogQuestions Writer::questions(const TopicPartition& partition) {
    return {[this, partition] { return source_.group_offset(partition); },
            [this, partition] { return source_.range(partition); },
            [this, partition](std::chrono::milliseconds time) {
                return source_.offset_at(partition, time);
            }};
}

// The first time of a topic: where each of its partitions begins is resolved to a number, stored
// and committed before a message is read. All at once, so that a partition without a row is later
// known to be a new one.
void Writer::create_fences(Topic& topic, const TopicPartition& wanted) {
    const int count = source_.partition_count(topic.options->name);
    if (count <= wanted.partition.raw()) {
        // Else the partition would pass for one that was added later, and begin at its beginning.
        throw KafkaError(
            0, "the brokers do not tell of partition " + std::to_string(wanted.partition.raw()));
    }
    std::vector<std::pair<Partition, FirstPosition>> positions;
    for (int number = 0; number < count; ++number) {
        const TopicPartition partition{topic.options->name, Partition{number}};
        positions.emplace_back(partition.partition,
                               first_position(topic.options->start, false, questions(partition)));
    }
    fences_.create(*connection_, topic.options->name, positions, topic.registered.ledger);
}

// DANGER: the brokers are asked again after each change of the assignment, each missed fence and
// each halt, since the topic may have been recreated meanwhile. With the identity from memory, a
// fence that an operator moved to the new topic would be taken for the old one, and messages of the
// new topic would count as duplicates of the old one's.
void Writer::ask_identity(Topic& topic) {
    require_fixed_partitions(topic);
    const std::uint64_t now = exchange_.look([](const Assignment& a) { return a.changes(); }) + 1;
    if (topic.identity_known == now) return;
    topic.identity = source_.identity(topic.options->name);
    topic.identity_known = now;
    watermarks_->identity(topic.options->name, topic.identity);
}

// With another number of partitions the producers' keys arrive in other partitions than before,
// where no worker knows them.
void Writer::require_fixed_partitions(Topic& topic) {
    if (!topic.claims || topic.options->ledger.reach != Reach::partition) return;
    const int now = source_.partition_count(topic.options->name);
    // A broker that does not know a new topic yet, or has no leader for it, reports no partitions.
    if (now == 0) throw KafkaError(0, "the brokers do not tell the topic's partitions");
    topic.fixed_partitions = fixed_partitions(*connection_, topic.registered.source, now);
    if (now != *topic.fixed_partitions) {
        throw std::runtime_error(moved_keys(now, *topic.fixed_partitions));
    }
}

// DANGER: a worker that gets none of the added partitions takes nothing over and would go on, and a
// key that moved from its partition to another worker's would be applied again there.
void Writer::check_partitions(Topic& topic, int now) {
    if (!topic.fixed_partitions || now == 0 || now == *topic.fixed_partitions) return;
    if (mutant(Mutant::added_partitions_seen_at_a_take_over_alone)) return;
    stop_topic(topic, moved_keys(now, *topic.fixed_partitions), options_.first_retry);
}

FenceState Writer::take_fence(Topic& topic, const TopicPartition& partition) {
    const bool too_early = mutant(Mutant::window_read_before_the_take_over);
    if (too_early && topic.claims) topic.claims->partitions_taken(*connection_, {&partition, 1});
    FenceState fence = fences_.take_over(
        *connection_, partition.topic, partition.partition, topic.identity, topic.registered.ledger,
        [&] { return exchange_.look([&](const Assignment& a) { return a.holds(partition); }); });
    // DANGER: in a transaction after the one that took the fence; see PartitionLogStore.
    if (!fence.owner.empty() && !too_early && topic.claims) {
        topic.claims->partitions_taken(*connection_, {&partition, 1});
    }
    return fence;
}

void Writer::take_over(const TopicPartition& partition) {
    Topic& topic = find(partition.topic);
    const auto begun = Clock::now();
    reached(options_.observer, Step::before_take_over);
    try {
        const auto known = fences_.look(*connection_, partition.topic, partition.partition);
        if (known && !known->retired) {
            exchange_.with([&](Assignment& a) { a.owned(partition, known->owner); });
        }
        prepare(topic);
        ask_identity(topic);
        if (!known && !fences_.topic_has_fences(*connection_, partition.topic)) {
            create_fences(topic, partition);
        }
        if (!known && !fences_.look(*connection_, partition.topic, partition.partition)) {
            const FirstPosition first =
                first_position(topic.options->start, true, questions(partition));
            fences_.create(*connection_, partition.topic, {{partition.partition, first}},
                           topic.registered.ledger);
        }
        FenceState fence = take_fence(topic, partition);
        if (fence.owner.empty()) {
            settle_refusal(topic, partition, fence);
            return;
        }
        log_info("fence.taken", {{"topic", partition.topic},
                                 {"partition", partition.partition.raw()},
                                 {"offset", fence.next_offset.raw()},
                                 {"epoch", fence.epoch.raw()}});
        if (fence.suspected) {
            // The operator's word gives the row another owner, which is how it is noticed.
            exchange_.with([&](Assignment& a) { a.owned(partition, fence.owner); });
            halt_suspect(partition, fence.next_offset);
            return;
        }
        const bool out_of_range = exchange_.with([&](Assignment& assignment) {
            const Assignment::Entry* entry = assignment.find(partition);
            const bool gap = entry != nullptr && entry->out_of_range;
            if (!gap) assignment.taken(partition, fence);
            return gap;
        });
        if (out_of_range) {
            exchange_.with([&](Assignment& a) { a.owned(partition, fence.owner); });
            const std::optional<Offset> begin = beyond_the_gap(topic, partition, fence);
            if (!begin) return;
            fence.next_offset = *begin;
            // The epoch of the offset after the gap is unknown; see absorb() in handoff.cc.
            fence.leader_epoch = LeaderEpoch{-1};
            exchange_.with([&](Assignment& a) { a.taken(partition, fence); });
        }
        activity_.taken(partition, fence.next_offset);
        watermarks_->taken(partition, topic.registered.ledger, fence);
        source_.wake();
        reached(options_.observer, Step::after_take_over);
    } catch (const PostgresError& error) {
        handle(error, &topic, Clock::now() - begun);
        // Others' batches go before the next try: what locks the row may last.
        exchange_.with([&](Assignment& a) { a.postpone(partition, Clock::now() + locked_pause); });
    } catch (const SinkMismatch& mismatch) {
        stop_topic(topic, mismatch.what(), options_.first_retry);
    } catch (const FenceLost& lost) {
        halt(partition, {HaltReason::fence_lost, lost.what()}, 0ms);
    } catch (const KafkaError& error) {
        log_warning("kafka.query_failed", {{"topic", partition.topic}, {"error", error.what()}});
        exchange_.with([&](Assignment& a) { a.postpone(partition, Clock::now() + kafka_pause); });
    } catch (const std::runtime_error& error) {
        stop_topic(topic, error.what(), options_.first_retry);
    }
}

void Writer::settle_refusal(Topic& topic, const TopicPartition& partition,
                            const FenceState& fence) {
    if (fence.retired) {
        halt(partition,
             {HaltReason::retired,
              "the group was retired, so that its claims may be gone; `onceward groups retire "
              "--undo` brings it back"},
             0ms);
    } else if (!same_log(fence, topic.identity)) {
        stop_for_other_log(topic, {fence.cluster_id, fence.topic_id});
    }
    // Else the partition was revoked meanwhile: nothing to do.
}

// Read once more, it would end the process once more.
void Writer::halt_suspect(const TopicPartition& partition, Offset fence) {
    halt(partition,
         {HaltReason::memory,
          "a process ran out of memory, most likely over the records at offset " +
              std::to_string(fence.raw()) +
              ". `onceward offsets retry` tries again, as after more memory was given; `offsets "
              "skip` passes them",
          {},
          fence},
         0ms);
}

// Same name is not the same log: the fence's number means nothing in another one.
void Writer::stop_for_other_log(Topic& topic, const LogIdentity& before) {
    stop_topic(topic,
               "the topic is another log than the one that the fence counts in (cluster " +
                   before.cluster_id + ", topic id " + before.topic_id + "; now " +
                   topic.identity.cluster_id + ", " + topic.identity.topic_id +
                   "). Say where to begin in it with `onceward offsets --set ... --adopt-topic-id`",
               0ms, HaltReason::other_log);
}

}  // namespace onceward
