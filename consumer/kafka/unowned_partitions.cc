#include "consumer/kafka/unowned_partitions.h"

#include <algorithm>
#include <iterator>

namespace onceward {
namespace {

// What no rebalance fixes, such as another client's assignor, must not cause rejoins for ever.
constexpr int most_doublings = 4;

std::set<TopicPartition> unowned_in(const GroupSight& sight) {
    std::set<TopicPartition> unowned;
    for (const auto& [topic, count] : sight.partitions) {
        for (int number = 0; number < count; ++number) {
            const TopicPartition partition{topic, Partition{number}};
            if (!sight.owned.contains(partition)) unowned.insert(partition);
        }
    }
    return unowned;
}

}  // namespace

UnownedPartitions::UnownedPartitions(std::chrono::milliseconds every)
    : pauses_{.first = every, .longest = every * (1 << most_doublings), .most = 1.5} {}

std::vector<TopicPartition> UnownedPartitions::look(Clock::time_point now, const GroupSight& sight,
                                                    double dice) {
    if (!sight.settled) {
        seen_.clear();
        return {};
    }
    std::set<TopicPartition> unowned = unowned_in(sight);
    std::vector<TopicPartition> again;
    std::ranges::set_intersection(unowned, seen_, std::back_inserter(again));
    if (unowned.empty()) rejoins_ = 0;
    seen_ = std::move(unowned);
    if (again.empty() || now < not_before_) return {};
    not_before_ = now + pauses_.after(++rejoins_, dice);
    seen_.clear();
    return again;
}

}  // namespace onceward
