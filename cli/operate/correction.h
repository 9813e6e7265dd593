#pragma once
// Whether a payload may be sent in place of a dead letter's own. Pure, except for the files that
// the topic's format names.

#include <memory>
#include <string>

#include "cli/configuration/configuration.h"
#include "cli/dlq/dead_letters.h"
#include "consumer/decode/schema_source.h"

namespace onceward {

// Why it may not be sent; '' if it may. DANGER: only under the letter's own idempotency key. Under
// another one the letter and its correction could both take effect. `schemas`: a patient source if
// the topic has a registry, else null. Throws FormatError, and std::runtime_error if a schema is
// not available.
std::string problem_of_correction(const std::string& group, const TopicConfiguration& topic,
                                  const DeadLetterRecord& letter, const std::string& payload,
                                  std::shared_ptr<SchemaSource> schemas = nullptr);

}  // namespace onceward
