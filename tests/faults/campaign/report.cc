#include "tests/faults/campaign/report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

namespace onceward::campaign {
namespace {

// 1234567 as 1,234,567.
std::string grouped(std::int64_t number) {
    std::string text = std::to_string(number);
    for (auto place = static_cast<std::ptrdiff_t>(text.size()) - 3; place > 0; place -= 3)
        text.insert(static_cast<std::size_t>(place), ",");
    return text;
}

std::string decimal(double number) {
    char text[64];
    std::snprintf(text, sizeof text, "%.1f", number);
    return text;
}

nlohmann::json to_json(const TierSum& tier) {
    const SeedResult& sum = tier.sum;
    return {{"tier", tier.tier},
            {"seeds", tier.seeds},
            {"faults", faults_of(sum)},
            {"faults_by_kind", sum.faults},
            {"messages", sum.messages},
            {"keys", sum.keys},
            {"duplicates", sum.duplicates},
            {"kills", sum.kills},
            {"kills_from_outside", sum.kills_from_outside},
            {"requests", sum.requests},
            {"seeds_by_kind", sum.kinds},
            {"lost", sum.lost},
            {"twice", sum.twice},
            {"violations", sum.violations.size()},
            {"seeds_again", sum.again},
            {"seconds", sum.seconds},
            {"seconds_by_phase", sum.phases},
            {"longest_quiet_seconds", tier.longest_quiet},
            {"first_seed", sum.seed},
            {"failed_seeds", tier.failed}};
}

std::string kinds_of(const SeedResult& sum) {
    std::string text = "Seeds of a kind of their own:";
    for (const auto& [kind, count] : sum.kinds) text += " " + kind + " " + grouped(count) + ",";
    text.back() = ';';
    return text + " requests sent over HTTP: " + grouped(sum.requests) + ".";
}

// For readers of the table of faults.
constexpr const char* fault_words =
    "A kill from outside (`kill_outside`) meets the release program at any moment. `kill_at_step` "
    "and `freeze_at_step` meet a build with fault points, at one step of its work. At a COMMIT, "
    "`commit_cut_...` resets the connection, and `commit_hole_...` lets nothing through and resets "
    "nothing. `trouble_...` puts one of several topics in trouble, and the others have to "
    "continue. A comment in `tests/faults/campaign/fault_kind.h` explains most of the names.\n\n";
constexpr const char* limits_of_i12 =
    "The limits of [I12](faults.md#invariants) follow one another in this time: 30 s until all "
    "processes are ready, 30 s until each request has its answer, and 90 s until the lag is 0. The "
    "start of servers and the producer's last messages are in it too.";

std::string run_again(std::int64_t seeds) {
    const bool one = seeds == 1;
    return grouped(seeds) + (one ? " seed was" : " seeds were") +
           " run again: a broker or server of the campaign itself had failed, so " +
           (one ? "it" : "they") + " had no verdict.";
}

TierSum all_of(const std::vector<TierSum>& tiers) {
    TierSum all;
    all.tier = tiers.size() == 1 ? tiers[0].tier : "both";
    for (const TierSum& tier : tiers) add(all, tier);
    return all;
}

}  // namespace

std::int64_t faults_of(const SeedResult& result) {
    return std::accumulate(result.faults.begin(), result.faults.end(), std::int64_t{0},
                           [](std::int64_t sum, const auto& kind) { return sum + kind.second; });
}

void add(TierSum& tier, const SeedResult& seed) {
    SeedResult& sum = tier.sum;
    if (tier.seeds++ == 0) sum.seed = seed.seed;
    sum.seed = std::min(sum.seed, seed.seed);
    for (const auto& [kind, count] : seed.faults) sum.faults[kind] += count;
    for (const auto& [kind, count] : seed.kinds) sum.kinds[kind] += count;
    sum.requests += seed.requests;
    sum.messages += seed.messages;
    sum.keys += seed.keys;
    sum.duplicates += seed.duplicates;
    sum.kills += seed.kills;
    sum.kills_from_outside += seed.kills_from_outside;
    sum.lost += seed.lost;
    sum.twice += seed.twice;
    sum.violations.insert(sum.violations.end(), seed.violations.begin(), seed.violations.end());
    sum.again += seed.again;
    sum.seconds += seed.seconds;
    for (const auto& [phase, seconds] : seed.phases) sum.phases[phase] += seconds;
    tier.longest_quiet = std::max(tier.longest_quiet, seed.quiet_seconds);
    if (!seed.violations.empty()) tier.failed.push_back(seed.seed);
}

void add(TierSum& tier, const TierSum& more) {
    if (more.seeds == 0) return;
    std::vector<std::uint64_t> failed = tier.failed;
    failed.insert(failed.end(), more.failed.begin(), more.failed.end());
    add(tier, more.sum);
    tier.seeds += more.seeds - 1;
    tier.longest_quiet = std::max(tier.longest_quiet, more.longest_quiet);
    tier.failed = std::move(failed);
}

std::vector<TierSum> one_of_each(const std::vector<TierSum>& tiers) {
    std::vector<TierSum> sums;
    for (const TierSum& tier : tiers) {
        const auto known = std::ranges::find(sums, tier.tier, &TierSum::tier);
        if (known == sums.end()) {
            sums.push_back(tier);
        } else {
            add(*known, tier);
        }
    }
    return sums;
}

std::string json_report(const std::vector<TierSum>& tiers, double seconds) {
    nlohmann::json report = to_json(all_of(tiers));
    report["seconds"] = seconds;
    report["tiers"] = nlohmann::json::array();
    for (const TierSum& tier : tiers) report["tiers"].push_back(to_json(tier));
    return report.dump(2) + "\n";
}

std::vector<TierSum> tiers_of(const std::string& text) {
    std::vector<TierSum> tiers;
    const nlohmann::json report = nlohmann::json::parse(text);
    for (const nlohmann::json& json : report.at("tiers")) {
        TierSum tier;
        tier.tier = json.at("tier");
        tier.seeds = json.at("seeds");
        tier.longest_quiet = json.at("longest_quiet_seconds");
        tier.failed = json.at("failed_seeds").get<std::vector<std::uint64_t>>();
        SeedResult& sum = tier.sum;
        sum.seed = json.at("first_seed");
        sum.faults = json.at("faults_by_kind").get<decltype(sum.faults)>();
        sum.messages = json.at("messages");
        sum.keys = json.at("keys");
        sum.duplicates = json.at("duplicates");
        sum.kills = json.at("kills");
        sum.kills_from_outside = json.at("kills_from_outside");
        // Reports of before there were any have none.
        sum.requests = json.value("requests", std::int64_t{0});
        sum.kinds = json.value("seeds_by_kind", decltype(sum.kinds){});
        sum.again = json.value("seeds_again", std::int64_t{0});
        sum.phases = json.value("seconds_by_phase", decltype(sum.phases){});
        sum.lost = json.at("lost");
        sum.twice = json.at("twice");
        sum.violations.resize(json.at("violations").get<std::size_t>());
        sum.seconds = json.at("seconds");
        tiers.push_back(std::move(tier));
    }
    return tiers;
}

std::string table(const std::vector<TierSum>& tiers) {
    std::ostringstream text;
    text << "| tier | seeds | faults | kills (from outside) | messages | keys | duplicates | lost |"
            " applied twice | violations |\n|---|---|---|---|---|---|---|---|---|---|\n";
    for (const TierSum& tier : tiers) {
        const SeedResult& sum = tier.sum;
        text << "| " << tier.tier << " | " << grouped(tier.seeds) << " | "
             << grouped(faults_of(sum)) << " | " << grouped(sum.kills) << " ("
             << grouped(sum.kills_from_outside) << ") | " << grouped(sum.messages) << " | "
             << grouped(sum.keys) << " | " << grouped(sum.duplicates) << " | " << grouped(sum.lost)
             << " | " << grouped(sum.twice) << " | "
             << grouped(static_cast<std::int64_t>(sum.violations.size())) << " |\n";
    }
    return text.str();
}

std::string page(const std::vector<TierSum>& tiers, const std::vector<std::string>& how) {
    std::ostringstream text;
    text << "# The fault campaign\n\nWritten by `onceward-campaign` at the end of its run; "
            "[CONTRIBUTING.md](../CONTRIBUTING.md) says how to run it again.\n\n";
    for (const std::string& line : how) text << "- " << line << "\n";
    text << "\n" << table(tiers);
    for (const TierSum& tier : tiers) {
        text << "\n## Faults of the " << tier.tier << " tier\n\n"
             << "Only those that took effect are counted.\n\n"
             << (tier.tier == "real" ? fault_words : "") << "| fault | times |\n|---|---|\n";
        for (const auto& [kind, count] : tier.sum.faults)
            text << "| " << kind << " | " << grouped(count) << " |\n";
        if (!tier.sum.kinds.empty()) text << "\n" << kinds_of(tier.sum) << "\n";
        if (tier.longest_quiet > 0)
            text << "\nThe longest time from the end of a seed's faults until nothing was left to "
                    "read: "
                 << decimal(tier.longest_quiet) << " s. " << limits_of_i12 << "\n";
        if (tier.sum.again > 0) text << "\n" << run_again(tier.sum.again) << "\n";
        for (const std::uint64_t seed : tier.failed)
            text << "\nSeed " << seed << " failed: `make campaign TIER=" << tier.tier
                 << " SEEDS=1 CORE_SEEDS=1 FIRST_SEED=" << seed << "`\n";
    }
    return text.str();
}

std::string line(const SeedResult& seed) {
    std::ostringstream text;
    text << "seed " << seed.seed;
    for (const auto& [kind, count] : seed.kinds) text << " (" << kind << ")";
    text << ": " << faults_of(seed) << " faults, " << seed.kills << " kills, " << seed.messages
         << " messages, " << seed.keys << " keys, " << seed.duplicates << " duplicates, "
         << seed.requests << " requests, lost " << seed.lost << ", twice " << seed.twice
         << ", violations " << seed.violations.size() << ", " << decimal(seed.seconds)
         << " s, lag gone after " << decimal(seed.quiet_seconds) << " s";
    if (seed.again > 0) text << ", once more, since: " << seed.without_verdict;
    const char* before = "; ";
    for (const char* phase : {"prepare", "faults", "quiet", "judge", "clean"}) {
        const auto took = seed.phases.find(phase);
        if (took == seed.phases.end()) continue;
        text << before << phase << " " << decimal(took->second);
        before = ", ";
    }
    return text.str();
}

}  // namespace onceward::campaign
