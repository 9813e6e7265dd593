#include "consumer/watch/lag_observer.h"

#include <algorithm>

#include "dedup/base/logging.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// What librdkafka fetches includes the log's end at no cost. This is for partitions that are not
// fetched: halted ones, and those whose queues are full.
constexpr auto ask_every = 10s;

void tell(const PartitionStatus& stalled) {
    log_warning(
        "partition.stalled",
        {{"topic", stalled.partition.topic},
         {"partition", stalled.partition.partition.raw()},
         {"lag", stalled.lag.value_or(-1)},
         {"standing_s", std::chrono::duration_cast<std::chrono::seconds>(stalled.standing).count()},
         {"reason", stalled.reason}});
}

}  // namespace

LagObserver::LagObserver(milliseconds stalled_after, Handoff& exchange, KafkaSource& source,
                         const WorkerActivity& activity)
    : every_(std::min<milliseconds>(1s, stalled_after / 4)),
      exchange_(exchange),
      source_(source),
      activity_(activity),
      watch_(stalled_after) {}

std::optional<Offset> LagObserver::end_of(const TopicPartition& partition) const {
    const std::optional<Offset> fetched = source_.fetched_end(partition);
    const auto told = ends_.find(partition);
    if (told == ends_.end()) return fetched;
    return std::max(fetched.value_or(told->second), told->second);
}

std::vector<PartitionSight> LagObserver::sights() {
    std::vector<PartitionSight> sights = exchange_.look([](const Assignment& assignment) {
        std::vector<PartitionSight> entries;
        for (const auto& [partition, entry] : assignment.entries()) {
            PartitionSight sight;
            sight.partition = partition;
            sight.phase = entry.phase;
            sight.halted_because = entry.halt.text;
            entries.push_back(std::move(sight));
        }
        return entries;
    });
    const auto on_the_way = exchange_.on_the_way();
    for (PartitionSight& sight : sights) {
        sight.fence = activity_.fence(sight.partition);
        sight.position = source_.position(sight.partition);
        sight.end = end_of(sight.partition);
        const auto found = on_the_way.find(sight.partition);
        sight.on_the_way = found != on_the_way.end();
        if (sight.on_the_way) sight.oldest = found->second;
    }
    return sights;
}

void LagObserver::tick() {
    const auto now = Clock::now();
    if (now < next_look_) return;
    next_look_ = now + every_;
    for (const auto& [partition, end] : source_.told_ends()) ends_.insert_or_assign(partition, end);
    const std::vector<PartitionSight> seen = sights();
    if (now >= next_question_) {
        next_question_ = now + ask_every;
        std::vector<TopicPartition> partitions;
        for (const PartitionSight& sight : seen) partitions.push_back(sight.partition);
        // An old end of a partition that another worker owned meanwhile would be worthless when the
        // partition returns.
        std::erase_if(ends_, [&](const auto& item) {
            return std::ranges::find(partitions, item.first) == partitions.end();
        });
        source_.ask_for_ends(partitions);
    }
    const milliseconds wall = std::chrono::duration_cast<milliseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    const StallDetector::News news = watch_.look(now, wall, seen, activity_.session(now));
    for (const PartitionStatus& stalled : news.stalled) tell(stalled);
    for (const TopicPartition& moving : news.moving) {
        log_info("partition.moving",
                 {{"topic", moving.topic}, {"partition", moving.partition.raw()}});
    }
    const MutexLock lock(mutex_);
    statuses_ = watch_.statuses();
}

std::vector<PartitionStatus> LagObserver::statuses() const {
    const MutexLock lock(mutex_);
    return statuses_;
}

}  // namespace onceward
