#include "tests/faults/campaign/core_tier.h"

#include <sys/wait.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "lab/embedded/child_process.h"

namespace onceward::campaign {
namespace {

constexpr std::chrono::hours longest{24};

}  // namespace

TierSum core_tier_of(const std::string& text) {
    const nlohmann::json json = nlohmann::json::parse(text);
    TierSum tier;
    tier.tier = "core";
    tier.seeds = json.at("seeds");
    tier.sum.faults = json.at("faults_by_kind").get<std::map<std::string, std::int64_t>>();
    tier.sum.messages = json.at("messages");
    tier.sum.keys = json.at("keys");
    tier.sum.duplicates = json.at("duplicates");
    tier.sum.kills = json.at("kills");
    tier.sum.lost = json.at("lost");
    tier.sum.twice = json.at("twice");
    tier.sum.violations = json.at("violations").get<std::vector<std::string>>();
    tier.sum.seconds = json.at("seconds");
    tier.failed = json.at("failed_seeds").get<std::vector<std::uint64_t>>();
    return tier;
}

TierSum run_core_tier(const CoreTierOptions& options) {
    std::filesystem::create_directories(options.folder);
    const std::filesystem::path report = options.folder / "core.json";
    std::filesystem::remove(report);
    ChildOptions child;
    child.command = {ONCEWARD_CORE_CAMPAIGN,
                     "--seeds",
                     std::to_string(options.seeds),
                     "--first-seed",
                     std::to_string(options.first_seed),
                     "--minutes",
                     std::to_string(options.minutes),
                     "--jobs",
                     std::to_string(options.jobs),
                     "--keep",
                     options.folder.string(),
                     "--json",
                     report.string()};
    ChildProcess core(child);
    const std::optional<int> status = core.wait(longest);
    std::ifstream file(report);
    std::ostringstream text;
    text << file.rdbuf();
    if (!status || !WIFEXITED(*status) || WEXITSTATUS(*status) > 1 || text.str().empty())
        throw std::runtime_error("the core tier could not run");
    TierSum tier = core_tier_of(text.str());
    tier.sum.seed = options.first_seed;
    return tier;
}

}  // namespace onceward::campaign
