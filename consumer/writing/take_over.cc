#include "consumer/writing/take_over.h"

#include "consumer/kafka/kafka_error.h"
#include "consumer/partitions/first_position.h"
#include "dedup/base/logging.h"
#include "dedup/base/mutants.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr auto locked_pause = 500ms;

std::string moved_keys(int now, int fixed) {
    return "the topic has " + std::to_string(now) +
           " partitions now, and its ledger, with `reach: partition`, began with " +
           std::to_string(fixed) +
           ": keys may have moved, and their duplicates would be applied. Write `reach: global`";
}

}  // namespace

void TakeOver::run(const TopicPartition& partition) {
    using Clock = FailureResponse::Clock;
    WriterTopic& topic = session_.topic(partition.topic);
    const auto begun = Clock::now();
    const auto postpone = [&](auto pause) {
        handoff_.with(&Assignment::postpone, partition, Clock::now() + pause);
    };
    reached(options_.observer, Step::before_take_over);
    bool prepared = false;  // What comes then concerns this partition alone.
    try {
        make_fence_row(topic, partition);
        prepared = true;
        take(topic, partition);
    } catch (const PostgresError& error) {
        const auto tried = Clock::now() - begun;
        if (prepared && failures_.take_over_waits(partition, error, tried)) return;
        failures_.outside_batch(error, &topic, tried);
        postpone(locked_pause);  // Others' batches go before the next try: a row lock may last.
    } catch (const SinkMismatch& mismatch) {
        failures_.stop_topic(topic, mismatch.what(), options_.first_retry);
    } catch (const FenceLost& lost) {
        failures_.halt(partition, {HaltReason::fence_lost, lost.what()}, 0ms);
    } catch (const KafkaError& error) {
        source_.bootstrap_again();
        failures_.brokers_failed(partition, error.what(), Clock::now() - begun);
    } catch (const std::exception& error) {
        failures_.stop_topic(topic, error.what(), options_.first_retry);
    }
}

void TakeOver::take(WriterTopic& topic, const TopicPartition& partition) {
    FenceState fence = take_fence(topic, partition);
    if (fence.owner.empty()) return settle_refusal(topic, partition, fence);
    log_info("fence.taken", {{"topic", partition.topic},
                             {"partition", partition.partition.raw()},
                             {"offset", fence.next_offset.raw()},
                             {"epoch", fence.epoch.raw()}});
    if (fence.suspected) {
        // The operator's command gives the row another owner, and is noticed by that.
        handoff_.with(&Assignment::owned, partition, fence.owner);
        // Reading these records again would end the process again.
        const std::string text =
            "a process ran out of memory, most likely over the records at offset " +
            std::to_string(fence.next_offset.raw()) +
            ". `onceward offsets retry` tries again, for example with more memory; `offsets skip` "
            "passes them";
        return failures_.halt(partition, {HaltReason::memory, text, {}, fence.next_offset}, 0ms);
    }
    const bool out_of_range = handoff_.with([&](Assignment& assignment) {
        const Assignment::Entry* entry = assignment.find(partition);
        const bool gap = entry != nullptr && entry->out_of_range;
        if (!gap) assignment.taken(partition, fence);
        return gap;
    });
    if (out_of_range) {
        handoff_.with(&Assignment::owned, partition, fence.owner);
        const std::optional<Offset> begin = beyond_the_gap(topic, partition, fence);
        if (!begin) return;
        fence = reading_from(*begin, std::move(fence));
        handoff_.with(&Assignment::taken, partition, fence);
    }
    activity_.taken(partition, fence.next_offset);
    session_.watermarks().taken(partition, topic.registered.ledger, fence);
    source_.wake();
    reached(options_.observer, Step::after_take_over);
}

void TakeOver::make_fence_row(WriterTopic& topic, const TopicPartition& partition) {
    Connection& connection = session_.connection();
    Fences& fences = session_.fences();
    const auto known = fences.look(connection, partition.topic, partition.partition);
    if (known && !known->retired) {
        handoff_.with(&Assignment::owned, partition, known->owner);
    }
    setup_.prepare(topic);
    ask_identity(topic);
    if (known) return;
    if (!fences.topic_has_fences(connection, partition.topic)) create_fences(topic, partition);
    if (fences.look(connection, partition.topic, partition.partition)) return;
    const FirstPosition first = first_position(topic.options.start, true, questions(partition));
    fences.create(connection, partition.topic, {{partition.partition, first}},
                  topic.registered.ledger);
}

// For a topic's first time: the first offset of each partition is resolved to a number, stored and
// committed before a message is read. All at once, so that a partition without a row is later known
// to be a new one.
void TakeOver::create_fences(WriterTopic& topic, const TopicPartition& wanted) {
    const int count = source_.queries().partition_count(topic.options.name);
    if (count <= wanted.partition.raw()) {
        // Without this error the partition would be taken for one that was added later, and be read
        // from its beginning.
        throw KafkaError(
            0, "the brokers do not report partition " + std::to_string(wanted.partition.raw()));
    }
    std::vector<std::pair<Partition, FirstPosition>> positions;
    for (int number = 0; number < count; ++number) {
        const TopicPartition partition{topic.options.name, Partition{number}};
        positions.emplace_back(partition.partition,
                               first_position(topic.options.start, false, questions(partition)));
    }
    session_.fences().create(session_.connection(), topic.options.name, positions,
                             topic.registered.ledger);
}

FenceState TakeOver::take_fence(WriterTopic& topic, const TopicPartition& partition) {
    Connection& connection = session_.connection();
    const bool too_early = mutant("window_read_before_the_take_over");
    if (too_early && topic.claims) topic.claims->partitions_taken(connection, {&partition, 1});
    FenceState fence = session_.fences().take_over(
        connection, partition.topic, partition.partition, topic.identity, topic.registered.ledger,
        [&] { return handoff_.look(&Assignment::holds, partition); });
    // DANGER: call it in a transaction after the one that took the fence; see PartitionLogStore.
    if (!fence.owner.empty() && !too_early && topic.claims) {
        topic.claims->partitions_taken(connection, {&partition, 1});
    }
    return fence;
}

// DANGER: ask the brokers again after each change of the assignment, each missed fence and each
// halt, since the topic may have been recreated meanwhile. With the identity from memory, a fence
// that an operator moved to the new topic would be taken for the old one, and messages of the new
// topic would count as duplicates of the old one's.
void TakeOver::ask_identity(WriterTopic& topic) {
    require_fixed_partitions(topic);
    const std::uint64_t now = handoff_.look(&Assignment::changes) + 1;
    if (topic.identity_known == now) return;
    topic.identity = source_.queries().identity(topic.options.name);
    topic.identity_known = now;
    session_.watermarks().identity(topic.options.name, topic.identity);
}

// With another number of partitions the producers' keys arrive in other partitions than before,
// where no worker knows them.
void TakeOver::require_fixed_partitions(WriterTopic& topic) {
    if (!topic.claims || topic.options.ledger.reach != Reach::partition) return;
    const int now = source_.queries().partition_count(topic.options.name);
    // A broker that does not know a new topic yet, or has no leader for it, reports no partitions.
    if (now == 0) throw KafkaError(0, "the brokers do not report the topic's partitions");
    topic.fixed_partitions = fixed_partitions(session_.connection(), topic.registered.source, now);
    if (now != *topic.fixed_partitions) {
        throw std::runtime_error(moved_keys(now, *topic.fixed_partitions));
    }
}

// DANGER: a worker that gets none of the added partitions takes nothing over. It would continue,
// and a key that moved from its partition to another worker's would be applied again there.
void TakeOver::check_partitions(WriterTopic& topic, int now) {
    if (!topic.fixed_partitions || now == 0 || now == *topic.fixed_partitions) return;
    if (mutant("added_partitions_seen_at_a_take_over_alone")) return;
    failures_.stop_topic(topic, moved_keys(now, *topic.fixed_partitions), options_.first_retry);
}

LogQuestions TakeOver::questions(const TopicPartition& partition) {
    return {[this, partition] { return source_.queries().group_offset(partition); },
            [this, partition] { return source_.queries().range(partition); },
            [this, partition](std::chrono::milliseconds time) {
                return source_.queries().offset_at(partition, time);
            }};
}

void TakeOver::settle_refusal(WriterTopic& topic, const TopicPartition& partition,
                              const FenceState& fence) {
    if (fence.retired) {
        failures_.halt(partition,
                       {HaltReason::retired,
                        "the group was retired, so its claims may be gone; `onceward groups "
                        "retire --undo` restores it"},
                       0ms);
    } else if (!same_log(fence, topic.identity)) {
        stop_for_other_log(topic, {fence.cluster_id, fence.topic_id});
    }
    // Otherwise the partition was revoked meanwhile: nothing to do.
}

std::optional<Offset> TakeOver::beyond_the_gap(WriterTopic& topic, const TopicPartition& partition,
                                               const FenceState& fence) {
    const LogRange range = source_.queries().range(partition);
    const int seeks = handoff_.with(&Assignment::seeks_again, partition);
    const OutOfRangePlan plan =
        plan_out_of_range(fence.next_offset, range, topic.options.on_out_of_range, seeks);
    switch (plan.action) {
        case OutOfRangePlan::Action::seek: return plan.target;
        case OutOfRangePlan::Action::halt:
            failures_.halt(partition, plan.halt, 0ms);
            return std::nullopt;
        case OutOfRangePlan::Action::skip: break;
    }
    session_.fences().skip(session_.connection(), partition.topic, partition.partition,
                           fence.next_offset, plan.target, "out of range: no longer in the log");
    activity_.skipped(plan.target.raw() - fence.next_offset.raw());
    log_error("offsets.skipped", {{"topic", partition.topic},
                                  {"partition", partition.partition.raw()},
                                  {"begin", fence.next_offset.raw()},
                                  {"end", plan.target.raw()}});
    return plan.target;
}

void TakeOver::other_log(WriterTopic& topic, const LogIdentity& now) {
    const LogIdentity before = std::exchange(topic.identity, now);
    stop_for_other_log(topic, before);
}

// A topic of the same name is not the same log: the fence's offset means nothing in another one.
void TakeOver::stop_for_other_log(WriterTopic& topic, const LogIdentity& before) {
    failures_.stop_topic(
        topic,
        "the topic's log is not the one that the fence refers to (cluster " + before.cluster_id +
            ", topic id " + before.topic_id + "; now " + topic.identity.cluster_id + ", " +
            topic.identity.topic_id +
            "). Say where to begin in it with `onceward offsets --set ... --adopt-topic-id`",
        0ms, HaltReason::other_log);
}

}  // namespace onceward
