// `onceward run`: the deployed worker.

#include "cli/commands/commands.h"
#include "cli/configuration/load.h"
#include "cli/process/run_workers.h"
#include "cli/terminal/command.h"

namespace onceward {

void add_run(CLI::App& program, Commands& commands) {
    CLI::App& run = *program.add_subcommand(
        "run",
        "Consume the configured topics until SIGTERM, which drains; a second one leaves at "
        "once.");
    auto file = std::make_shared<std::string>("onceward.yaml");
    run.add_option("-c,--config", *file, "The configuration")->capture_default_str();
    commands.add(run, [file] {
        const Configuration configuration = load_or_throw(*file);
        configure_log(configuration.logging);
        if (configuration.topics.empty()) {
            throw ConfigurationError("There is no topic to consume. `onceward serve -c " + *file +
                                     "` serves the routes alone.");
        }
        return run_workers(configuration, nullptr);
    });
}

}  // namespace onceward
