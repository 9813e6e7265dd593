#pragma once
// What happens if a process that runs with one configuration gets another one: the one place that
// says so, for `onceward plan` and for a reload. Pure.

#include <vector>

#include "cli/configuration/configuration.h"
#include "cli/plan/consequence.h"
#include "cli/plan/facts.h"

namespace onceward {

// The most dangerous first. Empty: nothing changes. `now`: null if only the facts are known; then
// what PostgreSQL does not know, such as how keys are read, is not judged. A reload has no facts.
std::vector<Consequence> judge(const Configuration* now, const Configuration& next,
                               const PlanFacts& facts);

}  // namespace onceward
