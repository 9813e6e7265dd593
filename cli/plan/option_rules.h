#pragma once
// What a changed option leads to, if that depends on the option alone: a table. Pure.

#include <string>

#include "cli/configuration/configuration.h"
#include "cli/plan/consequence.h"

namespace onceward {

// Judges an option of a topic, by its name without `topics[]`. REQUIRES: judge_keys() does not
// judge it.
Consequence judge_topic_option(const TopicConfiguration& next, const std::string& option);
// Judges an option of the whole process, by its full path.
Consequence judge_process_option(const std::string& path);

}  // namespace onceward
