// `onceward check`: everything that is wrong with a configuration, in one go.
// Without --connect it opens no connection; what a file and the environment tell is all it looks
// at.

#include <iostream>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/configuration/load.h"
#include "cli/configuration/setup_check.h"

namespace onceward {
namespace {

struct CheckOptions {
    std::string file = "onceward.yaml";
    bool strict_environment = false;
    bool json = false;
};

std::string counted(std::size_t count, const std::string& noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

void print_text(const LoadResult& result, const std::string& file) {
    std::size_t errors = 0;
    for (const Finding& finding : result.findings) {
        errors += finding.severity == Finding::Severity::error ? 1 : 0;
        std::cerr << to_text(finding, file) << '\n';
    }
    const std::size_t warnings = result.findings.size() - errors;
    std::string summary = file + ": ";
    summary += errors > 0 ? counted(errors, "error") : std::string("good");
    if (warnings > 0) summary += ", " + counted(warnings, "warning");
    std::cout << summary << std::endl;
}

int check(const CheckOptions& options) {
    LoadOptions load;
    load.strict_environment = options.strict_environment;
    LoadResult result = load_configuration(options.file, load);
    if (result.usable()) check_setup(result);
    if (options.json) {
        std::cout << findings_json(result.findings, options.file) << std::endl;
    } else {
        print_text(result, options.file);
    }
    return result.usable() ? exit_ok : exit_config;
}

}  // namespace

void add_check(CLI::App& program, Commands& commands) {
    CLI::App* command = program.add_subcommand("check", "Look for mistakes in a configuration");
    auto options = std::make_shared<CheckOptions>();
    command->add_option("-c,--config", options->file, "The configuration")->capture_default_str();
    command->add_flag("--strict-env", options->strict_environment,
                      "A variable that is not set is an error, as it is in `run`");
    command->add_flag("--json", options->json, "Print the findings as a JSON array");
    command->footer("Exit codes: 0 nothing wrong, 78 something is.");
    commands.add(*command, [options] { return check(*options); });
}

}  // namespace onceward
