// `onceward describe`: the contract that a configuration makes, for the people and the tools of
// those who send.

#include <iostream>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/configuration/load.h"
#include "cli/describe/topic_contract.h"
#include "cli/gateway/gateway_options.h"

namespace onceward {
namespace {

struct DescribeOptions {
    std::string file;
    bool open_api = false;
};

int describe(const DescribeOptions& options) {
    const Configuration configuration = load_or_throw(options.file);
    const Contract contract = contract_of(configuration, ONCEWARD_VERSION);
    if (options.open_api) {
        if (contract.routes.empty()) {
            throw ConfigurationError(options.file +
                                     ": OpenAPI describes routes, and there is none.");
        }
        std::cout << open_api(contract);
    } else {
        std::cout << topic_contracts(configuration);
        if (!contract.routes.empty()) std::cout << contract_text(contract);
    }
    std::cout << std::flush;
    return std::cout.good() ? exit_ok : exit_failure;
}

}  // namespace

void add_describe(CLI::App& program, Commands& commands) {
    CLI::App& command = *program.add_subcommand(
        "describe",
        "Print the contract that the configuration makes: who mints the key, its scope, what is "
        "claimed when, what a repeat gets, for how long.");
    auto options = std::make_shared<DescribeOptions>();
    command.add_option("-c,--config", options->file, "The configuration file")->required();
    command.add_flag("--openapi", options->open_api, "The routes as OpenAPI 3.1, in JSON");
    commands.add(command, [options] { return describe(*options); });
}

}  // namespace onceward
