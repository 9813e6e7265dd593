#pragma once
// Checks a static member's group now and then, and makes the member rejoin if partitions have
// no owner. Used by the reader's thread, and never waits; rejoins() is thread-safe. Borrows the
// source. KafkaErrors are the source's.

#include <atomic>
#include <cstdint>

#include "consumer/kafka/kafka_source.h"
#include "consumer/kafka/unowned_partitions.h"
#include "dedup/base/backoff.h"

namespace onceward {

class GroupObserver {
  public:
    // `every`: as for UnownedPartitions.
    GroupObserver(std::chrono::milliseconds every, KafkaSource& source);
    // Looks, if it is time to. True: the member leaves the group now, to join it again.
    bool tick();
    std::int64_t rejoins() const { return rejoins_; }

  private:
    using Clock = UnownedPartitions::Clock;

    std::chrono::milliseconds every_;
    KafkaSource& source_;
    UnownedPartitions watch_;
    Clock::time_point next_look_;
    std::atomic<std::int64_t> rejoins_{0};
};

}  // namespace onceward
