#include "consumer/partitions/first_position.h"

namespace onceward {
namespace {

OutOfRangePlan halted(HaltReason reason, std::string text, std::optional<OffsetRange> lost = {}) {
    return {OutOfRangePlan::Action::halt, {}, {reason, std::move(text), lost, {}}};
}

}  // namespace

FirstPosition first_position(const StartPosition& start, bool topic_known,
                             const LogQuestions& questions) {
    const auto committed = questions.group_offset();
    if (committed && is_our_mark(committed->metadata)) {
        throw FenceLost(
            "the group's committed offset was written by Onceward, but its fence row is gone: the "
            "database was lost, restored or is another one. Restore it, or say where to begin "
            "with `onceward offsets --set`");
    }
    auto kind = topic_known ? StartPosition::Kind::earliest : start.kind;
    if (kind == StartPosition::Kind::committed) {
        if (committed) return {committed->offset, committed->leader_epoch};
        kind = start.fallback == StartPosition::Fallback::latest ? StartPosition::Kind::latest
                                                                 : StartPosition::Kind::earliest;
    }
    if (kind == StartPosition::Kind::timestamp) {
        return {questions.offset_at(start.timestamp), LeaderEpoch{-1}};
    }
    const bool latest = kind == StartPosition::Kind::latest;
    return {latest ? questions.range().latest : questions.range().earliest, LeaderEpoch{-1}};
}

OutOfRangePlan plan_out_of_range(Offset fence, const LogRange& range, OutOfRangePolicy policy,
                                 int seeks) {
    const std::string at = std::to_string(fence.raw());
    // This is never 'caught up', and no policy decides it: what was below the fence is gone, or
    // other records are there now.
    if (fence > range.latest) {
        return halted(HaltReason::log_cut,
                      "the log ends at offset " + std::to_string(range.latest.raw()) +
                          ", below the fence at " + at +
                          ": it was truncated, or the topic was recreated. Say where to begin with "
                          "`onceward offsets --set`");
    }
    if (fence >= range.earliest) {
        if (seeks < seeks_at_most) return {OutOfRangePlan::Action::seek, fence, {}};
        return halted(HaltReason::log_cut,
                      "the brokers refuse offset " + at +
                          " repeatedly, although the log holds it: it was truncated below the "
                          "fence and rewritten, as after an unclean election. Say where to "
                          "begin with `onceward offsets --set`");
    }
    switch (policy) {
        case OutOfRangePolicy::halt: break;
        case OutOfRangePolicy::earliest: return {OutOfRangePlan::Action::skip, range.earliest, {}};
        case OutOfRangePolicy::latest: return {OutOfRangePlan::Action::skip, range.latest, {}};
    }
    return halted(HaltReason::out_of_range,
                  "offsets " + at + " to " + std::to_string(range.earliest.raw() - 1) +
                      " are no longer in the log: its retention ran out before they were read. "
                      "Move on with `onceward offsets --set`, or set on_out_of_range",
                  OffsetRange{fence, range.earliest});
}

// DANGER: if the offset stays, so must its epoch. A seek without an epoch is not checked against
// the leader's log: if that was cut below the fence and rewritten, as after an unclean election,
// reading would continue at the fence, and the new records before it would never be read.
FenceState reading_from(Offset begin, FenceState fence) {
    if (begin == fence.next_offset) return fence;
    fence.next_offset = begin;
    fence.leader_epoch = LeaderEpoch{-1};  // unknown; see absorb() in handoff.cc
    return fence;
}

}  // namespace onceward
