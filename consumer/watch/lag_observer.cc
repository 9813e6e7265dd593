#include "consumer/watch/lag_observer.h"

#include <algorithm>

#include "dedup/base/logging.h"

namespace onceward {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::minutes tell_again{10};

// The offset before which everything is done. It is the reading position, not the fence, if no
// message between them waits for a COMMIT, as with control records after the last message.
std::optional<Offset> done_up_to(const PartitionSight& sight) {
    const bool nothing_open = sight.phase == PartitionPhase::reading && !sight.on_the_way;
    if (nothing_open && sight.position && sight.fence)
        return std::max(*sight.fence, *sight.position);
    return sight.fence;
}

std::string with_cause(const std::string& what, const std::string& cause) {
    return cause.empty() ? what : what + ": " + cause;
}

using namespace std::chrono_literals;

// What librdkafka fetches includes the log's end at no cost. This is for partitions that are not
// fetched: halted ones, and those whose queues are full.
constexpr auto ask_every = 10s;

}  // namespace

PartitionStatus StallDetector::judge(Memory& memory, Clock::time_point now, milliseconds wall,
                                     const PartitionSight& sight) {
    PartitionStatus status;
    status.partition = sight.partition;
    status.phase = sight.phase;
    const std::optional<Offset> done = done_up_to(sight);
    if (done && sight.end) {
        status.lag = std::max<std::int64_t>(0, sight.end->raw() - done->raw());
    }
    // If the log is not empty and the fence is not known, something may wait.
    const bool waits = status.lag ? *status.lag > 0 : !done && sight.end && *sight.end > Offset{0};
    // A partition that an operator has paused is not expected to move.
    const bool paused = sight.phase == PartitionPhase::paused;
    const bool moved = !waits || (done && done != memory.done);
    if (moved || paused) memory.since = now;
    if (moved) memory.oldest.reset();
    if (done) memory.done = done;
    if (!waits) return status;
    // The oldest waiting message stays the same while nothing moves, also when it is read again.
    if (sight.oldest && !memory.oldest) memory.oldest = sight.oldest;
    status.standing = std::chrono::duration_cast<milliseconds>(now - memory.since);
    status.age = memory.oldest ? std::max(wall - *memory.oldest, milliseconds(0)) : status.standing;
    status.stalled = status.standing >= stalled_after_;
    return status;
}

StallDetector::News StallDetector::look(Clock::time_point now, milliseconds wall,
                                        std::span<const PartitionSight> sights,
                                        const SessionView& session) {
    News news;
    statuses_.clear();
    for (const PartitionSight& sight : sights) {
        Memory& memory =
            memories_.try_emplace(sight.partition, Memory{{}, now, now, {}, {}}).first->second;
        memory.seen = now;
        PartitionStatus status = judge(memory, now, wall, sight);
        if (status.stalled) {
            status.reason = believed_reason(sight, session);
            if (!memory.told || now - *memory.told >= tell_again) {
                memory.told = now;
                news.stalled.push_back(status);
            }
        } else if (memory.told) {
            memory.told.reset();
            news.moving.push_back(sight.partition);
        }
        statuses_.push_back(std::move(status));
    }
    // Remembered for a while: a partition that comes back at the same offset has not moved.
    std::erase_if(memories_, [&](const auto& item) {
        return now - item.second.seen > std::max<Clock::duration>(stalled_after_, tell_again);
    });
    return news;
}

std::string believed_reason(const PartitionSight& sight, const SessionView& session) {
    const std::string& failure = session.failure_of(sight.partition.topic);
    // It is being tried again right now, and still has the reason for which it was halted.
    const bool tried_again = sight.phase == PartitionPhase::wants_fence ||
                             sight.phase == PartitionPhase::wants_seek ||
                             sight.phase == PartitionPhase::reading;
    if (tried_again && !sight.trouble.empty() && session.connected && failure.empty()) {
        return with_cause("the partition is halted", sight.trouble);
    }
    switch (sight.phase) {
        case PartitionPhase::halted: return with_cause("the partition is halted", sight.trouble);
        case PartitionPhase::wants_fence:
            return session.connected ? with_cause("its fence could not be taken yet", failure)
                                     : with_cause("PostgreSQL cannot be reached", failure);
        case PartitionPhase::wants_seek:
            return "the reader could not seek to the fence: the broker does not answer";
        case PartitionPhase::waiting:
            return with_cause("its next messages wait to be tried again", sight.trouble);
        case PartitionPhase::paused: return "its topic is paused";
        case PartitionPhase::reading: break;
    }
    if (!session.connected) return with_cause("PostgreSQL cannot be reached", failure);
    if (!sight.on_the_way && !sight.awaits_schema.empty()) return sight.awaits_schema;
    if (!sight.on_the_way) {
        return "Kafka hands out no messages: a producer's transaction is open, or the partition's "
               "leader is away";
    }
    if (!failure.empty()) return "PostgreSQL refuses the batch: " + failure;
    if (session.transaction) {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*session.transaction);
        return "a transaction has been running for " + std::to_string(seconds.count()) + " s";
    }
    return "its messages wait for those of other topics";
}

LagObserver::LagObserver(milliseconds stalled_after, Handoff& handoff, KafkaSource& source,
                         const WorkerActivity& activity)
    : every_(std::min<milliseconds>(1s, stalled_after / 4)),
      handoff_(handoff),
      source_(source),
      activity_(activity),
      watch_(stalled_after) {}

std::optional<Offset> LagObserver::end_of(const TopicPartition& partition) const {
    const std::optional<Offset> fetched = source_.fetched_end(partition);
    const auto told = ends_.find(partition);
    if (told == ends_.end()) return fetched;
    return std::max(fetched.value_or(told->second), told->second);
}

std::vector<PartitionSight> LagObserver::sights() {
    std::vector<PartitionSight> sights;
    const auto entries = handoff_.look(&Assignment::entries);
    const auto on_the_way = handoff_.on_the_way();
    for (const auto& [partition, entry] : entries) {
        PartitionSight& sight = sights.emplace_back();
        sight.partition = partition;
        sight.phase = entry.phase;
        sight.trouble = entry.trouble.text;
        sight.awaits_schema = entry.awaits_schema;
        sight.fence = activity_.fence(partition);
        sight.position = source_.position(partition);
        sight.end = end_of(partition);
        const auto found = on_the_way.find(partition);
        sight.on_the_way = found != on_the_way.end();
        if (sight.on_the_way) sight.oldest = found->second;
    }
    return sights;
}

void LagObserver::tick() {
    const auto now = Clock::now();
    if (now < next_look_) return;
    next_look_ = now + every_;
    for (const auto& [partition, end] : source_.told_ends()) ends_.insert_or_assign(partition, end);
    const std::vector<PartitionSight> seen = sights();
    if (now >= next_question_) {
        next_question_ = now + ask_every;
        std::vector<TopicPartition> partitions;
        for (const PartitionSight& sight : seen) partitions.push_back(sight.partition);
        // If another worker has owned a partition in the meantime, its old end is worthless when
        // the partition returns.
        std::erase_if(ends_, [&](const auto& item) {
            return std::ranges::find(partitions, item.first) == partitions.end();
        });
        source_.ask_for_ends(partitions);
    }
    const StallDetector::News news =
        watch_.look(now, since_1970<milliseconds>(), seen, activity_.session(now));
    for (const PartitionStatus& stalled : news.stalled) {
        const auto standing = std::chrono::duration_cast<std::chrono::seconds>(stalled.standing);
        log_warning("partition.stalled", {{"topic", stalled.partition.topic},
                                          {"partition", stalled.partition.partition.raw()},
                                          {"lag", stalled.lag.value_or(-1)},
                                          {"standing_s", standing.count()},
                                          {"reason", stalled.reason}});
    }
    for (const TopicPartition& moving : news.moving) {
        log_info("partition.moving",
                 {{"topic", moving.topic}, {"partition", moving.partition.raw()}});
    }
    const MutexLock lock(mutex_);
    statuses_ = watch_.statuses();
}

std::vector<PartitionStatus> LagObserver::statuses() const {
    const MutexLock lock(mutex_);
    return statuses_;
}

}  // namespace onceward
