#pragma once
// Runs the core tier, which is a program of its own (tests/faults/campaign/core/), and takes its
// numbers over.

#include <cstdint>
#include <filesystem>

#include "tests/faults/campaign/report.h"

namespace onceward::campaign {

struct CoreTierOptions {
    std::uint64_t first_seed = 1;
    std::int64_t seeds = 1;
    int jobs = 2;
    double minutes = 0;  // 0: as long as it takes
    std::filesystem::path folder;
};

// Its output goes to ours. Throws std::runtime_error where it could not run.
TierSum run_core_tier(const CoreTierOptions& options);
// From the JSON that it wrote.
TierSum core_tier_of(const std::string& json);

}  // namespace onceward::campaign
