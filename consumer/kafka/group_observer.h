#pragma once
// Looks at a static member's group now and then, and makes the member rejoin where partitions have
// no owner. Used by the reader's thread, and never waits; rejoins() is thread-safe. Borrows the
// source. KafkaErrors are the source's.

#include <atomic>
#include <cstdint>
#include <random>

#include "consumer/kafka/kafka_source.h"
#include "consumer/kafka/unowned_partitions.h"

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
    double dice() { return std::uniform_real_distribution<double>(0.0, 1.0)(random_); }

    std::chrono::milliseconds every_;
    KafkaSource& source_;
    UnownedPartitions watch_;
    std::mt19937_64 random_{std::random_device{}()};
    Clock::time_point next_look_;
    std::atomic<std::int64_t> rejoins_{0};
};

}  // namespace onceward
