#pragma once
// Where a partition without a fence begins. Pure but for its questions to Kafka, which are handed
// in.

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "consumer/kafka/kafka_options.h"
#include "consumer/kafka/kafka_source.h"
#include "dedup/fence/fence.h"

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

}  // namespace onceward
