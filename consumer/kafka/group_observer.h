#pragma once
// Checks a static member's group now and then, and makes the member rejoin if partitions have
// no owner. Used by the reader's thread, and never waits; rejoins() is thread-safe. Borrows the
// source. KafkaErrors are the source's.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <set>
#include <vector>

#include "consumer/kafka/kafka_source.h"
#include "dedup/base/backoff.h"
#include "dedup/base/types.h"

namespace onceward {

// Finds partitions that nobody owns although the group is stable, and decides when a member must
// leave and join again so that they are assigned. Pure: no I/O, the clock and the dice are passed
// in; used by one thread.
//
// A static member that restarts gets its old assignment without a rebalance (KIP-345). If it led
// the group, it does not learn that it leads (KIP-814), and it assumes that it has assigned all
// partitions that its topics have by then: partitions added while it was away wait for another
// rebalance.
class UnownedPartitions {
  public:
    using Clock = std::chrono::steady_clock;
    // `every`: between two checks, and the first pause between two rejoins. If it is shorter, the
    // brokers get two requests more often; if longer, partitions wait longer: twice `every` on
    // average.
    explicit UnownedPartitions(std::chrono::milliseconds every);

    // The partitions for which the member must rejoin now: those without an owner in two
    // consecutive checks of a settled group. `dice`: between 0 and 1.
    std::vector<TopicPartition> look(Clock::time_point now, const GroupSight& sight, double dice);

  private:
    Backoff pauses_;                 // random, so that a fleet does not act at the same time
    std::set<TopicPartition> seen_;  // unowned at the last check
    int rejoins_ = 0;                // since all partitions had an owner
    Clock::time_point not_before_{};
};

class GroupObserver {
  public:
    // `every`: as for UnownedPartitions.
    GroupObserver(std::chrono::milliseconds every, KafkaSource& source);
    // Checks, if it is time to. Returns true if the member leaves the group now, to join it again.
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
