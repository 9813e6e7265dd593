#include "consumer/kafka/group_observer.h"

#include "dedup/base/logging.h"

namespace onceward {

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
