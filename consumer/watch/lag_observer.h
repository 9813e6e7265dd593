#pragma once
// Checks a worker's partitions about once a second: their lag, and which of them have stopped.
// Used by the reader's thread, and never waits; statuses() is thread-safe. Borrows the rest.

#include <vector>

#include "consumer/kafka/kafka_source.h"
#include "consumer/partitions/handoff.h"
#include "consumer/watch/stall_detector.h"
#include "consumer/watch/worker_activity.h"
#include "dedup/base/mutex.h"

namespace onceward {

class LagObserver {
  public:
    LagObserver(std::chrono::milliseconds stalled_after, Handoff& exchange, KafkaSource& source,
                const WorkerActivity& activity);
    // Looks, if it is time to.
    void tick();
    std::vector<PartitionStatus> statuses() const;

  private:
    using Clock = StallDetector::Clock;
    std::vector<PartitionSight> sights();
    std::optional<Offset> end_of(const TopicPartition& partition) const;

    std::chrono::milliseconds every_;
    Handoff& exchange_;
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
