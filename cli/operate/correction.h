#pragma once
// Whether a payload may be sent in place of a dead letter's own. Pure, but for the files that the
// topic's format names.

#include <string>

#include "cli/configuration/configuration.h"
#include "cli/dlq/dead_letters.h"

namespace onceward {

// Why it may not; '' if it may. DANGER: only under the letter's own idempotency key. Under another
// one the letter and its correction could both take effect. Throws FormatError.
std::string problem_of_correction(const std::string& group, const TopicConfiguration& topic,
                                  const DeadLetterRecord& letter, const std::string& payload);

}  // namespace onceward
