#pragma once
// What a redrive has to know about its topic. Pure.

#include "cli/configuration/configuration.h"
#include "cli/dlq/redrive_plan.h"

namespace onceward {

// The rules that were asked for, with what follows from the topic.
RedriveRules rules_for(RedriveRules asked, const TopicConfiguration& topic);

}  // namespace onceward
