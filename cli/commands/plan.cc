// `onceward plan`: what a changed configuration would lead to.

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/configuration/load.h"
#include "cli/plan/facts.h"
#include "cli/plan/judgement.h"
#include "cli/terminal/command.h"
#include "cli/terminal/config_file.h"
#include "cli/terminal/help.h"
#include "cli/terminal/output.h"

namespace onceward {
namespace {

struct PlanOptions {
    ConfigFile config;
    std::string from;
    bool json = false;
};

using Level = Consequence::Level;

void print_text(const std::vector<Consequence>& found, bool compared) {
    for (const Consequence& one : found) std::cout << line_of(one) << '\n';
    bool reloads = true;
    for (const Consequence& one : found) reloads = reloads && one.reloads;
    if (found.empty()) {
        std::cout << "nothing: it changes nothing\n";
    } else if (compared) {
        std::cout << (reloads ? "a process that runs can take it: send it SIGHUP\n"
                              : "a process takes it with a restart\n");
    }
    if (!compared) {
        std::cout << "not compared without --from: how keys, fingerprints and payloads are read, "
                     "and policies, which PostgreSQL does not know\n";
    }
    std::cout << std::flush;
}

void print_as_json(const std::vector<Consequence>& found, bool compared) {
    nlohmann::ordered_json json = {{"level", to_text(worst(found))},
                                   {"compared_with_file", compared},
                                   {"consequences", nlohmann::ordered_json::array()}};
    for (const Consequence& one : found) {
        json["consequences"].push_back(json_of(one));
    }
    std::cout << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
              << std::endl;
}

int exit_of(Level level) {
    switch (level) {
        case Level::nothing:
        case Level::safe: return exit_ok;
        case Level::restart: return exit_restart;
        case Level::danger: return exit_danger;
    }
    return exit_failure;
}

int plan(const PlanOptions& options) {
    const std::string file = options.config.path();
    const Configuration next = usable_or_throw(load_configuration(file), file);
    std::optional<Configuration> now;
    if (!options.from.empty()) now = load_or_throw(options.from);
    const Configuration* const from = now ? &*now : nullptr;
    const std::vector<Consequence> found = judge(from, next, read_facts(from, next));
    if (options.json) {
        print_as_json(found, now.has_value());
    } else {
        print_text(found, now.has_value());
    }
    return exit_of(worst(found));
}

}  // namespace

void add_plan(CLI::App& program, Commands& commands) {
    CLI::App* command = program.add_subcommand(
        "plan", "Say what a changed configuration leads to, before it is used");
    auto options = std::make_shared<PlanOptions>();
    add_config_option(*command, options->config);
    command
        ->add_option("--from", options->from,
                     "The configuration that runs now; without it only what PostgreSQL knows of "
                     "the group is compared")
        ->type_name("FILE");
    command->add_flag("--json", options->json,
                      "Print one JSON object: the level, each consequence");
    end_help(*command,
             {.notes = "Writes nothing. Numbers of claims are estimates where they are large.",
              .examples = {{"plan -c new.yaml --from onceward.yaml", "before a reload or restart"},
                           {"plan -c new.yaml", "against what PostgreSQL knows alone"}},
              .exit_codes = {{exit_ok, "nothing changes, or what changes is safe"},
                             {exit_restart, "it is safe, and takes effect with a restart"},
                             {exit_danger, "messages may be applied twice, or not at all"}}});
    commands.add(*command, [options] { return plan(*options); });
}

}  // namespace onceward
