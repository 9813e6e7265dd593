// The core tier of the campaign as a program:
//   onceward-campaign-core --seeds 2000 --first-seed 1 --minutes 0 --jobs 2 --json FILE --keep DIR
// One line for each seed that fails, with the command that runs it again; a table at the end. Exit
// 1 where a seed failed, 2 where the campaign could not run.

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <span>

#include "dedup/base/logging.h"
#include "dedup/base/mutants.h"
#include "tests/faults/campaign/core/core_campaign.h"
#include "tests/faults/campaign/core/plan.h"

int main(int argument_count, char** arguments) {
    using namespace onceward;
    campaign::core::CoreCampaignOptions options;
    std::string json;
    bool print_plan = false;
    bool quiet = false;
    bool list_mutants = false;
    CLI::App program{"The core tier of Onceward's fault campaign"};
    program.add_option("--seeds", options.seeds, "How many");
    program.add_option("--first-seed", options.first_seed, "The first one");
    program.add_option("--minutes", options.minutes, "Stop after that long; 0: never");
    program.add_option("--jobs", options.jobs, "Seeds that run at once");
    program.add_option("--keep", options.keep, "Where plans and logs of failed seeds go");
    program.add_flag("--keep-all", options.keep_all, "Keep those of all seeds");
    program.add_option("--json", json, "A file for the result");
    program.add_flag("--stop-at-first", options.stop_at_first, "Stop at the first violation");
    program.add_flag("--list-mutants", list_mutants,
                     "Print the names of those mutants that this tier notices");
    program.add_flag("--plan", print_plan, "Print the first seed's plan, and run nothing");
    program.add_flag("--each", options.each, "A line of progress for each seed");
    program.add_flag("--quiet", quiet, "No progress");
    CLI11_PARSE(program, argument_count, arguments);
    if (print_plan) {
        std::cout << campaign::core::to_text(campaign::core::draw_plan(options.first_seed));
        return 0;
    }
    if (list_mutants) {
        for (const std::string_view name : std::span(mutant_names).first(core_mutants)) {
            std::cout << name << "\n";
        }
        return 0;
    }
    configure_log({.level = LogLevel::off});
    options.program = arguments[0];
    if (!quiet) options.progress = &std::cerr;
    try {
        const campaign::core::CoreCampaignResult result =
            campaign::core::run_core_campaign(options, std::cout);
        campaign::core::print_table(result, std::cout);
        if (!json.empty()) std::ofstream(json) << campaign::core::to_json(result) << "\n";
        return result.violations.empty() ? 0 : 1;
    } catch (const std::exception& error) {
        std::cerr << "the campaign could not run: " << error.what() << "\n";
        return 2;
    }
}
