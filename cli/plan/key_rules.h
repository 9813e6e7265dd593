#pragma once
// What happens with the claims that a ledger has if a topic is read in another way: whether its
// keys are the same, where they are looked for, and for how long. Pure.

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

// Whether judge_keys() judges the option, so that nobody else has to.
bool is_of_keys(const std::string& option);
std::vector<Consequence> judge_keys(const KeyChange& change);

}  // namespace onceward
