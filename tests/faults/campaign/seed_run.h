#pragma once
// One seed of the real tier from end to end: topics and schema of its own, the fleet, the messages
// and the faults, the quiet, the checker. Used by the lane's thread.

#include <filesystem>

#include "tests/faults/campaign/plan.h"
#include "tests/faults/campaign/seed_result.h"
#include "tests/faults/campaign/stage.h"

namespace onceward::campaign {

// Everything about it is left in `folder`. What keeps it from a verdict, such as a broker that does
// not come back, is a violation as well: a seed that was not judged has shown nothing. Such a seed
// is worth a second try, on another stage; `without_verdict` says why.
SeedResult run_seed(Stage& stage, const Plan& plan, const std::filesystem::path& folder);

}  // namespace onceward::campaign
