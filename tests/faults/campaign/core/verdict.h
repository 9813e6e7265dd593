#pragma once
// Hands what a seed has left to the independent checker.

#include <iosfwd>

#include "tests/faults/campaign/core/core_seed.h"
#include "tests/faults/campaign/core/scene.h"

namespace onceward::campaign::core {

// `acknowledged`: what the workers were told of by an answered COMMIT. `trace` gets the steps.
void judge_seed(const Scene& scene, const SeedSchema& schema, const Totals& acknowledged,
                SeedResult& result, std::ostream& trace);

}  // namespace onceward::campaign::core
