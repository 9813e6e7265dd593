// What the writer does if the log does not hold the fence's offset. Nothing is ever skipped without
// a row in skipped_ranges, in the transaction that moves the fence.

#include "consumer/partitions/out_of_range_plan.h"
#include "consumer/writer.h"
#include "dedup/base/logging.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

}  // namespace

std::optional<Offset> Writer::beyond_the_gap(Topic& topic, const TopicPartition& partition,
                                             const FenceState& fence) {
    const KafkaSource::Range range = source_.range(partition);
    const int seeks =
        exchange_.with([&](Assignment& assignment) { return assignment.seeks_again(partition); });
    const OutOfRangePlan plan =
        plan_out_of_range(fence.next_offset, range, topic.options->on_out_of_range, seeks);
    switch (plan.action) {
        case OutOfRangePlan::Action::seek: return plan.target;
        case OutOfRangePlan::Action::halt: halt(partition, plan.halt, 0ms); return std::nullopt;
        case OutOfRangePlan::Action::skip: break;
    }
    fences_.skip(*connection_, partition.topic, partition.partition, fence.next_offset, plan.target,
                 "out of range: no longer in the log");
    activity_.skipped(plan.target.raw() - fence.next_offset.raw());
    log_error("offsets.skipped", {{"topic", partition.topic},
                                  {"partition", partition.partition.raw()},
                                  {"begin", fence.next_offset.raw()},
                                  {"end", plan.target.raw()}});
    return plan.target;
}

}  // namespace onceward
