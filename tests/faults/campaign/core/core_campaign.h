#pragma once
// Many seeds of the core tier, some at once, and their sum. run_core_campaign() starts the shared
// server, which ends with the calling thread.

#include <iosfwd>

#include "tests/faults/campaign/core/core_seed.h"

namespace onceward::campaign::core {

struct CoreCampaignOptions {
    std::uint64_t first_seed = 1;
    std::int64_t seeds = 100;
    double minutes = 0;  // no further seed begins after that; 0: no limit
    int jobs = 2;
    std::filesystem::path keep;
    bool keep_all = false;
    std::string program = "onceward-campaign-core";  // for the command that repeats a seed
    bool stop_at_first = false;                      // no further seed begins after a violation
    std::ostream* progress = nullptr;
    bool each = false;  // a line of progress for each seed
};

struct CoreCampaignResult {
    std::int64_t seeds = 0;
    std::map<std::string, std::int64_t> faults_by_kind;
    std::map<std::string, std::int64_t> events;
    std::int64_t faults = 0;
    std::int64_t messages = 0;
    std::int64_t keys = 0;
    std::int64_t duplicates = 0;
    std::int64_t kills = 0;
    std::int64_t lost = 0;
    std::int64_t twice = 0;
    std::vector<std::string> violations;  // with their seeds
    std::vector<std::uint64_t> failed_seeds;
    double seconds = 0;
    void add(const SeedResult& seed);
};

// Writes a line for each violation, and the command that repeats the seed, as they come.
CoreCampaignResult run_core_campaign(const CoreCampaignOptions& options, std::ostream& out);

std::string to_json(const CoreCampaignResult& result);
void print_table(const CoreCampaignResult& result, std::ostream& out);

}  // namespace onceward::campaign::core
