#include "consumer/writing/unreadable_partitions.h"

#include "dedup/base/logging.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr auto read_again_after = 1s;

}  // namespace

// What was read before such records lands first: the fence is then directly before them.
void UnreadablePartitions::check() {
    const std::vector<TopicPartition> partitions =
        handoff_.look([](const Assignment& assignment) { return assignment.unreadable(); });
    if (partitions.empty()) return;
    const auto on_the_way = handoff_.on_the_way();
    for (const TopicPartition& partition : partitions) {
        if (!on_the_way.contains(partition)) try_again(partition);
    }
}

void UnreadablePartitions::try_again(const TopicPartition& partition) {
    const std::optional<Offset> fence = activity_.fence(partition);
    const auto entry = handoff_.look([&](const Assignment& assignment) {
        const Assignment::Entry* found = assignment.find(partition);
        return found == nullptr ? std::nullopt : std::optional(*found);
    });
    if (!fence || !entry || !entry->unreadable) return;
    const std::string why = entry->halt.text;
    // The reading position may be past the fence, over control records that no transaction has
    // moved the fence over yet. Then reading begins at the fence once more before it counts.
    const bool counts = *fence == *entry->unreadable;
    const auto verdict = handoff_.with([&](Assignment& assignment) {
        return counts ? assignment.read_failed(partition, *fence) : ReadAttempts::Verdict::again;
    });
    switch (verdict) {
        case ReadAttempts::Verdict::again:
            log_warning("partition.unreadable", {{"topic", partition.topic},
                                                 {"partition", partition.partition.raw()},
                                                 {"offset", fence->raw()},
                                                 {"error", why}});
            handoff_.with([&](Assignment& assignment) {
                assignment.wait(partition, FailureResponse::Clock::now() + read_again_after);
            });
            return;
        case ReadAttempts::Verdict::halt:
            failures_.halt(
                partition,
                {HaltReason::unreadable,
                 "the records at offset " + std::to_string(fence->raw()) + " cannot be read: " +
                     why + ". `onceward offsets retry` tries again, `offsets skip` passes them",
                 {},
                 fence},
                0ms);
            return;
    }
}

}  // namespace onceward
