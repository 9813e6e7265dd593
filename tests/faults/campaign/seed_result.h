#pragma once
// What one seed of the campaign came to, in either tier, and the sum of many. Values.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace onceward::campaign {

struct SeedResult {
    std::uint64_t seed = 0;
    // By kind; only faults that really took effect.
    std::map<std::string, std::int64_t> faults;
    std::int64_t messages = 0;    // sent and visible to a consumer
    std::int64_t keys = 0;        // distinct ones
    std::int64_t duplicates = 0;  // messages whose key had come before
    std::int64_t kills = 0;       // all of them, and those from outside at a random time
    std::int64_t kills_from_outside = 0;
    std::int64_t requests = 0;  // sent to routes, each as often as it was sent
    // Seeds by what they have outside of their tables, what they are about, and what became of
    // their ledgers.
    std::map<std::string, std::int64_t> kinds;
    std::int64_t lost = 0;   // keys without their effect
    std::int64_t twice = 0;  // keys with more than one
    // One line each, with the invariant's number and the offending keys.
    std::vector<std::string> violations;
    // What kept the first try of this seed from a verdict; of many, how many seeds ran again.
    std::string without_verdict;
    std::int64_t again = 0;
    double seconds = 0;
    // Where they went: prepare, faults, quiet, judge, clean.
    std::map<std::string, double> phases;
    // How long it took from the end of the faults until nothing was left to read. The limits of
    // I12 are for parts of it, one after another.
    double quiet_seconds = 0;
};

}  // namespace onceward::campaign
