#pragma once
// Where a partition without a fence begins, and what to do if Kafka does not hold the fence's
// offset (OutOfRangePlan). Pure except for the questions to Kafka, which are passed in.

#include <functional>
#include <optional>
#include <stdexcept>

#include "consumer/kafka/kafka_options.h"
#include "consumer/kafka/kafka_source.h"
#include "consumer/partitions/partition_phase.h"
#include "dedup/fence/fence.h"
#include "dedup/policy/topic_policy.h"

namespace onceward {

// The group's committed offset carries our mark, but there is no fence row: the row was lost. Asks
// for an operator.
class FenceLost : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct LogQuestions {
    std::function<std::optional<GroupOffset>()> group_offset;
    std::function<LogRange()> range;
    std::function<Offset(std::chrono::milliseconds)> offset_at;
};

// `topic_known`: the topic has fences already, so that this partition was added to it and starts at
// its beginning.
FirstPosition first_position(const StartPosition& start, bool topic_known,
                             const LogQuestions& questions);

// How often in a row the position may be 'out of range' while the log's range holds it.
inline constexpr int seeks_at_most = 3;

// What to do if Kafka says that the fence's offset is out of range. Pure; used by the writer and by
// `check --connect`.
struct OutOfRangePlan {
    enum class Action : std::uint8_t {
        seek,  // the log holds the offset after all
        skip,  // to `target`, with a row in skipped_ranges
        halt,
    };
    Action action = Action::seek;
    Offset target;
    Halt halt{};
};

// `seeks`: how many there were since the partition last moved on.
OutOfRangePlan plan_out_of_range(Offset fence, const LogRange& range, OutOfRangePolicy policy,
                                 int seeks);
// The fence from which the reader begins after that plan.
FenceState reading_from(Offset begin, FenceState fence);

}  // namespace onceward
