// `onceward serve`: the front door alone, without workers.

#include "cli/commands/commands.h"
#include "cli/configuration/load.h"
#include "cli/process/serve_routes.h"
#include "cli/terminal/command.h"
#include "dedup/base/logging.h"

namespace onceward {
namespace {

int serve(const std::string& file) {
    const Configuration configuration = load_or_throw(file);
    configure_log(configuration.logging);
    if (configuration.http.routes.empty()) {
        throw ConfigurationError(file +
                                 ": there is no route to serve. Write `http:`, below it "
                                 "`routes:`, and below that `- method: ...` for each.");
    }
    serve_routes(configuration, nullptr);
    return exit_ok;
}

}  // namespace

void add_serve(CLI::App& program, Commands& commands) {
    CLI::App& command = *program.add_subcommand(
        "serve",
        "Serve the configured HTTP routes until SIGTERM, which answers what is under way; a second "
        "one leaves at once.");
    auto file = std::make_shared<std::string>("onceward.yaml");
    command.add_option("-c,--config", *file, "The configuration")->capture_default_str();
    commands.add(command, [file] { return serve(*file); });
}

}  // namespace onceward
