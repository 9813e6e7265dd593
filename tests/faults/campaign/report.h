#pragma once
// The sum of many seeds, for machines and for people. Pure.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/faults/campaign/seed_result.h"

namespace onceward::campaign {

// `real`: worker processes, broker, server and proxies; `core`: the same core in one process.
struct TierSum {
    std::string tier;
    std::int64_t seeds = 0;
    SeedResult sum;  // of all of them; its seed is the first one's
    double longest_quiet = 0;
    std::vector<std::uint64_t> failed;
};

void add(TierSum& tier, const SeedResult& seed);
// The seeds of another run of the same tier.
void add(TierSum& tier, const TierSum& more);
// Runs of one tier become one, where the first of them stands.
std::vector<TierSum> one_of_each(const std::vector<TierSum>& tiers);
std::int64_t faults_of(const SeedResult& result);

// {"tier": …, "seeds": …, "faults": …, "faults_by_kind": {…}, "messages": …, "keys": …,
//  "duplicates": …, "kills": …, "kills_from_outside": …, "lost": …, "twice": …, "violations": …,
//  "requests": …, "seeds_by_kind": {…}, "seconds": …, "failed_seeds": […], "tiers": […]}: the sum
//  of all tiers, and each of them.
std::string json_report(const std::vector<TierSum>& tiers, double seconds);
// What json_report() told of a run: its tiers, without the texts of their violations. Throws
// nlohmann's exceptions where `text` is none.
std::vector<TierSum> tiers_of(const std::string& text);
// The table for the README.
std::string table(const std::vector<TierSum>& tiers);
// The page of docs/campaign.md. `how`: what was run on what, a line each.
std::string page(const std::vector<TierSum>& tiers, const std::vector<std::string>& how);
// One line for a seed that is done.
std::string line(const SeedResult& seed);

}  // namespace onceward::campaign
