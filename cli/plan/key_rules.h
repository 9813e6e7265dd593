#pragma once
// What happens to the claims of a ledger if a topic is read in another way: whether its keys are
// the same, in which ledger they are searched, and for how long. Pure.

#include <optional>
#include <string>
#include <vector>

#include "cli/plan/consequence.h"
#include "cli/plan/facts.h"

namespace onceward {

struct KeyChange {
    const Configuration* now_whole = nullptr;  // null: only the facts are known
    const TopicConfiguration* now = nullptr;   // null: the topic is new, or not known
    const Configuration& next_whole;
    const TopicConfiguration& next;
    std::vector<std::string> options{};  // that differ
    const PlanFacts& facts;
};

// Whether judge_keys() judges the option, so that nothing else has to.
bool is_of_keys(const std::string& option);
std::vector<Consequence> judge_keys(const KeyChange& change);

}  // namespace onceward
