#pragma once
// Checks a worker's partitions about once a second: their lag, and which of them have stopped.
// Used by the reader's thread, and never waits; statuses() is thread-safe. Borrows the rest.

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "consumer/kafka/kafka_source.h"
#include "consumer/partitions/assignment.h"
#include "consumer/partitions/handoff.h"
#include "consumer/watch/worker_activity.h"
#include "dedup/base/mutex.h"

namespace onceward {

// What a worker sees of one of its partitions in one check.
struct PartitionSight {
    TopicPartition partition;
    PartitionPhase phase = PartitionPhase::wants_fence;
    // Why it is, or last was, halted or waiting; empty once something is committed.
    std::string trouble;
    std::string awaits_schema{};  // why the next message is not read yet; '' if it is
    std::optional<Offset> fence;  // nullopt: not taken since the partition was assigned
    // The offset that reading has reached; nullopt while the partition is not read.
    std::optional<Offset> position;
    bool on_the_way = false;  // messages of it are between the reader and a COMMIT
    // The timestamp of the first waiting message, since 1970-01-01 UTC; nullopt if the record has
    // none.
    std::optional<std::chrono::milliseconds> oldest;
    std::optional<Offset> end;  // of the log; nullopt: the broker has not reported it yet
};

struct PartitionStatus {
    TopicPartition partition;
    PartitionPhase phase = PartitionPhase::wants_fence;
    // Offsets between what is done and the log's end, including control records; nullopt while
    // either is unknown.
    std::optional<std::int64_t> lag;
    // The age of the oldest message that waits, by its own timestamp; if that is unknown, how long
    // it has been seen waiting. 0 if nothing waits.
    std::chrono::milliseconds age{0};
    // How long nothing has moved although messages wait; 0 if nothing waits.
    std::chrono::milliseconds standing{0};
    bool stalled = false;
    std::string reason;  // stalled: what the worker believes to be the cause
};

// How far each partition lags, and whether one has stopped although messages wait. Pure: no I/O,
// both clocks are passed in; used by one thread.
class StallDetector {
  public:
    using Clock = std::chrono::steady_clock;
    // `stalled_after`: how long a partition may be at one offset while messages wait before it
    // counts as stalled. A shorter time reports sooner, but takes a long transaction for a stall.
    explicit StallDetector(std::chrono::milliseconds stalled_after)
        : stalled_after_(stalled_after) {}

    struct News {
        std::vector<PartitionStatus> stalled;  // now, or still after another `tell_again`
        std::vector<TopicPartition> moving;    // stalled until now
    };
    // `wall`: the time since 1970-01-01 UTC, which records' timestamps are compared with.
    News look(Clock::time_point now, std::chrono::milliseconds wall,
              std::span<const PartitionSight> sights, const SessionView& session);
    // As of the last check.
    const std::vector<PartitionStatus>& statuses() const { return statuses_; }

  private:
    struct Memory {
        std::optional<Offset> done;
        Clock::time_point since{};  // nothing moved, or nothing waited before
        Clock::time_point seen{};
        std::optional<Clock::time_point> told;
        std::optional<std::chrono::milliseconds> oldest;
    };
    PartitionStatus judge(Memory& memory, Clock::time_point now, std::chrono::milliseconds wall,
                          const PartitionSight& sight);

    std::chrono::milliseconds stalled_after_;
    std::map<TopicPartition, Memory> memories_;
    std::vector<PartitionStatus> statuses_;
};

// What the worker believes is holding a partition up.
std::string believed_reason(const PartitionSight& sight, const SessionView& session);

class LagObserver {
  public:
    LagObserver(std::chrono::milliseconds stalled_after, Handoff& handoff, KafkaSource& source,
                const WorkerActivity& activity);
    // Checks, if it is time to.
    void tick();
    std::vector<PartitionStatus> statuses() const;

  private:
    using Clock = StallDetector::Clock;
    std::vector<PartitionSight> sights();
    std::optional<Offset> end_of(const TopicPartition& partition) const;

    std::chrono::milliseconds every_;
    Handoff& handoff_;
    KafkaSource& source_;
    const WorkerActivity& activity_;
    StallDetector watch_;
    std::map<TopicPartition, Offset> ends_;  // as the brokers answered when asked
    Clock::time_point next_look_{};
    Clock::time_point next_question_{};
    mutable Mutex mutex_;
    std::vector<PartitionStatus> statuses_ ONCEWARD_GUARDED_BY(mutex_);
};

}  // namespace onceward
