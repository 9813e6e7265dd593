#include "consumer/kafka/group_observer.h"

#include <algorithm>
#include <iterator>

#include "dedup/base/logging.h"

namespace onceward {
namespace {

// What no rebalance fixes, such as another client's assignor, must not cause frequent rejoins.
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

GroupObserver::GroupObserver(std::chrono::milliseconds every, KafkaSource& source)
    : every_(every),
      source_(source),
      watch_(every),
      next_look_(Clock::now() + spread(every, 1.0, 1.5, roll())) {}

bool GroupObserver::tick() {
    const auto now = Clock::now();
    if (now >= next_look_) {
        next_look_ = now + spread(every_, 1.0, 1.5, roll());
        source_.ask_for_group();
    }
    const std::optional<GroupSight> sight = source_.told_group();
    if (!sight) return false;
    const std::vector<TopicPartition> unowned = watch_.look(now, *sight, roll());
    if (unowned.empty()) return false;
    for (const TopicPartition& partition : unowned) {
        log_warning("partition.unowned",
                    {{"topic", partition.topic}, {"partition", partition.partition.raw()}});
    }
    log_info("group.rejoining", {{"unowned", unowned.size()}});
    ++rejoins_;
    source_.rejoin();
    return true;
}

}  // namespace onceward
