#include "consumer/partitions/first_position.h"

namespace onceward {
namespace {

Offset fallback(StartPosition::Fallback where, const LogRange& range) {
    switch (where) {
        case StartPosition::Fallback::earliest: return range.earliest;
        case StartPosition::Fallback::latest: return range.latest;
    }
    return range.earliest;
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
    if (topic_known) return {questions.range().earliest, LeaderEpoch{-1}};
    switch (start.kind) {
        case StartPosition::Kind::committed:
            if (committed) return {committed->offset, committed->leader_epoch};
            return {fallback(start.fallback, questions.range()), LeaderEpoch{-1}};
        case StartPosition::Kind::earliest: return {questions.range().earliest, LeaderEpoch{-1}};
        case StartPosition::Kind::latest: return {questions.range().latest, LeaderEpoch{-1}};
        case StartPosition::Kind::timestamp:
            return {questions.offset_at(start.timestamp), LeaderEpoch{-1}};
    }
    return {questions.range().earliest, LeaderEpoch{-1}};
}

}  // namespace onceward
