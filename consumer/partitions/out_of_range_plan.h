#pragma once
// What to do where Kafka says that the fence's offset is out of range. Pure; used by the writer and
// by `check --connect`.

#include "consumer/kafka/kafka_source.h"
#include "consumer/partitions/halt_reason.h"
#include "dedup/policy/topic_policy.h"

namespace onceward {

// How often in a row the position may be 'out of range' while the log's range holds it.
inline constexpr int seeks_at_most = 3;

struct OutOfRangePlan {
    enum class Action : std::uint8_t {
        seek,  // the offset is there after all
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

}  // namespace onceward
