#pragma once
// Runs the seeds of the real tier, one after another in each of several lanes, which share nothing
// but the list of seeds.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>

#include "tests/faults/campaign/seed_result.h"

namespace onceward::campaign {

struct LaneOptions {
    std::uint64_t first_seed = 1;
    std::int64_t seeds = 1;
    int lanes = 1;
    // No seed begins after it.
    std::chrono::steady_clock::time_point deadline;
    // A folder for each seed; that of one without a violation is removed.
    std::filesystem::path folder;
    bool keep = false;  // all of them stay
};

// `done` is called for each seed, by one thread at a time. Throws where a lane cannot start.
void run_lanes(const LaneOptions& options, const std::function<void(const SeedResult&)>& done);

}  // namespace onceward::campaign
