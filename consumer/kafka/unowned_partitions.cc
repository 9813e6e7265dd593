#include "consumer/kafka/unowned_partitions.h"

#include <algorithm>
#include <iterator>

namespace onceward {
namespace {

// What no rebalance mends, such as another client's assignor, shall not shake the group for ever.
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

UnownedPartitions::Clock::duration UnownedPartitions::jittered(std::chrono::milliseconds pause,
                                                               double dice) {
    const std::chrono::duration<double> whole(pause);
    return std::chrono::duration_cast<Clock::duration>(whole * (1.0 + dice / 2));
}

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
    not_before_ = now + jittered(every_ * (1 << std::min(rejoins_, most_doublings)), dice);
    ++rejoins_;
    seen_.clear();
    return again;
}

}  // namespace onceward
