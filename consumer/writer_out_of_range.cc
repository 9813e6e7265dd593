// What the writer does where the log does not hold the offset at which the fence stands. Nothing is
// ever passed without a row in skipped_ranges, in the transaction that moves the fence.

#include "consumer/writer.h"
#include "dedup/log.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

}  // namespace

std::optional<Offset> Writer::beyond_the_gap(Topic& topic, const TopicPartition& partition,
                                             const FenceState& fence) {
    const KafkaSource::Range range = source_.range(partition);
    const std::string at = std::to_string(fence.next_offset.raw());
    if (fence.next_offset > range.latest) {
        // The log ends below the fence: cut by an unclean election, or made again under the same
        // name. Never 'caught up'.
        halt(partition,
             "the log ends at offset " + std::to_string(range.latest.raw()) +
                 ", below the fence at " + at +
                 ": it was cut, or the topic was made again. Say where to begin with `onceward "
                 "offsets --set`",
             0ms);
        return std::nullopt;
    }
    if (fence.next_offset >= range.earliest) return fence.next_offset;  // It is there after all.
    Offset target = range.earliest;
    switch (topic.options->on_out_of_range) {
        case OutOfRangePolicy::halt:
            halt(partition,
                 "offsets " + at + " to " + std::to_string(range.earliest.raw() - 1) +
                     " are no longer in the log: its retention ran out before they were read. "
                     "Move on with "
                     "`onceward offsets --set`, or set on_out_of_range",
                 0ms);
            return std::nullopt;
        case OutOfRangePolicy::earliest: break;
        case OutOfRangePolicy::latest: target = range.latest; break;
    }
    fences_.skip(*connection_, partition.topic, partition.partition, fence.next_offset, target,
                 "out of range: no longer in the log");
    log_error("offsets.skipped", {{"topic", partition.topic},
                                  {"partition", partition.partition.raw()},
                                  {"begin", fence.next_offset.raw()},
                                  {"end", target.raw()}});
    return target;
}

}  // namespace onceward
