// onceward-campaign: runs seeds with faults against workers and judges what they leave.
// Exit 0: no violation; 1: at least one; 2: it could not run. `--help` lists the options.

#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <fstream>
#include <iostream>
#include <thread>

#include "tests/faults/campaign/core_tier.h"
#include "tests/faults/campaign/lanes.h"
#include "tests/faults/campaign/plan.h"
#include "tests/faults/campaign/report.h"

namespace {

using namespace onceward::campaign;
using Clock = std::chrono::steady_clock;

struct Options {
    std::string tier = "real";
    std::int64_t seeds = 200;
    std::int64_t core_seeds = 2000;
    std::uint64_t first_seed = 1;
    double minutes = 0;  // 0: as long as it takes
    int lanes = 1;
    std::string json;
    std::string page;
    std::string commit;
    std::vector<std::string> add;
    std::string folder = "build/campaign";
    bool plan = false;
    bool keep = false;
};

Options parse(int count, char** arguments) {
    Options options;
    CLI::App app("Kills, freezes and cuts off workers by seed, and has the rest checked.");
    app.add_option(
           "--tier", options.tier,
           "real: processes, broker, server; core: in one process; none: what --add names alone")
        ->check(CLI::IsMember({"real", "core", "both", "none"}));
    app.add_option("--seeds", options.seeds, "How many of the real tier")
        ->check(CLI::PositiveNumber);
    app.add_option("--core-seeds", options.core_seeds, "How many of the core tier")
        ->check(CLI::PositiveNumber);
    app.add_option("--first-seed", options.first_seed, "The first of them");
    app.add_option("--minutes", options.minutes, "No seed of a tier begins after so many");
    app.add_option("--lanes", options.lanes, "Side by side, each with a broker and a server")
        ->check(CLI::Range(1, 16));
    app.add_option("--json", options.json, "Where the report goes for machines");
    app.add_option("--write", options.page, "Where the page goes, such as docs/campaign.md");
    app.add_option("--commit", options.commit, "Of what was run, told on the page");
    app.add_option("--add", options.add, "The --json of a run before, told on the same page")
        ->check(CLI::ExistingFile);
    app.add_option("--folder", options.folder, "Where seeds keep their files");
    app.add_flag("--plan", options.plan, "Print what the real seeds would do, and do nothing");
    app.add_flag("--keep", options.keep, "Keep the files of seeds without a violation too");
    try {
        app.parse(count, arguments);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error));
    }
    return options;
}

void tell(const Options& options, const SeedResult& seed) {
    std::cout << line(seed) << std::endl;
    if (seed.violations.empty()) return;
    for (const std::string& violation : seed.violations)
        std::cout << "  " << violation.substr(0, 1000) << "\n";
    std::cout << "  its files: " << options.folder << "/seed-" << seed.seed
              << "\n  again: make campaign TIER=real SEEDS=1 FIRST_SEED=" << seed.seed << std::endl;
}

void write_file(const std::string& path, const std::string& text) {
    if (path.empty()) return;
    std::ofstream file(path);
    file << text;
    file.flush();
    if (!file) throw std::runtime_error("cannot write " + path);
}

Clock::time_point deadline(const Options& options) {
    if (options.minutes == 0) return Clock::now() + std::chrono::hours(1000);
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double, std::ratio<60>>(options.minutes));
}

TierSum run_real(const Options& options) {
    LaneOptions lanes;
    lanes.first_seed = options.first_seed;
    lanes.seeds = options.seeds;
    lanes.lanes = options.lanes;
    lanes.deadline = deadline(options);
    lanes.folder = std::filesystem::absolute(options.folder);
    lanes.keep = options.keep;
    TierSum real;
    real.tier = "real";
    run_lanes(lanes, [&](const SeedResult& seed) {
        add(real, seed);
        tell(options, seed);
    });
    return real;
}

TierSum run_core(const Options& options) {
    CoreTierOptions core;
    core.first_seed = options.first_seed;
    core.seeds = options.core_seeds;
    core.jobs = options.lanes;
    core.minutes = options.minutes;
    core.folder = std::filesystem::absolute(options.folder) / "core";
    return run_core_tier(core);
}

// What a reader needs to know to run the same.
std::vector<std::string> how(const Options& options, double seconds,
                             const std::vector<TierSum>& added) {
    utsname machine{};
    uname(&machine);
    char day[16];
    const std::time_t now = std::time(nullptr);
    std::strftime(day, sizeof day, "%F", std::gmtime(&now));
    std::vector<std::string> lines{std::string("Written on ") + day};
    if (!options.commit.empty()) lines.push_back("Of commit " + options.commit);
    if (options.tier != "none") {
        lines.push_back("`make campaign TIER=" + options.tier +
                        " SEEDS=" + std::to_string(options.seeds) +
                        " CORE_SEEDS=" + std::to_string(options.core_seeds) +
                        " FIRST_SEED=" + std::to_string(options.first_seed) +
                        " LANES=" + std::to_string(options.lanes) + "`, " +
                        std::to_string(static_cast<int>(seconds / 60)) + " minutes");
    }
    for (const TierSum& tier : added) {
        const std::string seeds = tier.tier == "core" ? " CORE_SEEDS=" : " SEEDS=";
        lines.push_back("Added from separate runs: `make campaign TIER=" + tier.tier + seeds +
                        std::to_string(tier.seeds) +
                        " FIRST_SEED=" + std::to_string(tier.sum.seed) + "`");
    }
    lines.push_back(std::to_string(std::thread::hardware_concurrency()) + " cores, " +
                    machine.sysname + " " + machine.machine +
                    "; workers, broker, PostgreSQL and proxies share them");
    lines.push_back("The judge is `tests/faults/checker`, which shares no code with the product.");
    return lines;
}

int run(const Options& options) {
    const auto begin = Clock::now();
    std::vector<TierSum> added;
    for (const std::string& report : options.add) {
        std::ifstream before(report);
        std::ranges::move(tiers_of({std::istreambuf_iterator<char>(before), {}}),
                          std::back_inserter(added));
    }
    added = one_of_each(added);
    std::vector<TierSum> tiers = added;
    const bool real = options.tier == "real", core = options.tier == "core";
    if (real || options.tier == "both") tiers.push_back(run_real(options));
    if (core || options.tier == "both") tiers.push_back(run_core(options));
    tiers = one_of_each(tiers);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    std::cout << "\n" << table(tiers) << std::endl;
    write_file(options.json, json_report(tiers, seconds));
    write_file(options.page, page(tiers, how(options, seconds, added)));
    for (const TierSum& tier : tiers) {
        if (!tier.sum.violations.empty()) return 1;
    }
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    try {
        const Options options = parse(count, arguments);
        if (!options.plan) return run(options);
        for (std::int64_t i = 0; i < options.seeds; ++i)
            std::cout << to_text(draw_plan(options.first_seed + static_cast<std::uint64_t>(i)));
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "onceward-campaign: " << error.what() << "\n";
        return 2;
    }
}
