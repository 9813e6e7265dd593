#pragma once
// Finds partitions that nobody owns although the group is stable, and decides when a member must
// leave and join again so that they are assigned. Pure: no I/O, the clock and the dice are passed
// in; used by one thread.
//
// A static member that restarts gets its old assignment without a rebalance (KIP-345). If it led
// the group, it does not learn that it leads (KIP-814), and it takes the partitions that its topics
// have by then for those it assigned: partitions added while it was away wait for another
// rebalance.

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "dedup/base/backoff.h"
#include "dedup/base/types.h"

namespace onceward {

// What a member sees of its group at one look.
struct GroupSight {
    bool settled = false;  // the group is Stable, and the one who looks is a member of it
    std::map<std::string, int> partitions;  // how many each of the member's topics has
    std::set<TopicPartition> owned;         // by any member
};

class UnownedPartitions {
  public:
    using Clock = std::chrono::steady_clock;
    // `every`: between two looks, and the first pause between two rejoins. Shorter, it costs the
    // brokers two questions more often; longer, the partitions wait: twice that in the middle.
    explicit UnownedPartitions(std::chrono::milliseconds every);

    // The partitions for which the member must rejoin now: those without an owner in two
    // consecutive checks of a settled group. `dice`: between 0 and 1.
    std::vector<TopicPartition> look(Clock::time_point now, const GroupSight& sight, double dice);

  private:
    Backoff pauses_;                 // with chance: a fleet does not act at once
    std::set<TopicPartition> seen_;  // unowned at the last look
    int rejoins_ = 0;                // since all partitions had an owner
    Clock::time_point not_before_{};
};

}  // namespace onceward
