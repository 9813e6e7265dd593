// `onceward health`: asks the process that runs with this configuration how it is. For the
// container's HEALTHCHECK.

#include <iostream>

#include "cli/admin/admin_server.h"
#include "cli/commands/commands.h"
#include "cli/configuration/load.h"
#include "cli/terminal/command.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr auto timeout = 3s;

struct HealthOptions {
    std::string file = "onceward.yaml";
    bool live = false;
    bool ready = false;
};

int ask(const HealthOptions& options) {
    const Configuration configuration = load_or_throw(options.file);
    if (!configuration.admin) {
        std::cerr << "onceward: admin.listen is off, so no process can be asked\n";
        return exit_failure;
    }
    if (configuration.admin->port == 0) {
        std::cerr << "onceward: admin.listen names port 0, so the system chose a port; name one\n";
        return exit_failure;
    }
    const AdminAnswer answer =
        ask_admin_port(*configuration.admin, options.ready ? "/readyz" : "/livez", timeout);
    if (answer.process != name_of(configuration.group)) {
        std::cerr << "onceward: " << to_text(*configuration.admin)
                  << " is held by a process of another group, not `" << configuration.group
                  << "`, or not by Onceward; this configuration's process has no admin port\n";
        return exit_failure;
    }
    std::cout << answer.body;
    return answer.status == 200 ? exit_ok : exit_failure;
}

}  // namespace

void add_health(CLI::App& program, Commands& commands) {
    CLI::App& health = *program.add_subcommand(
        "health",
        "Ask the process that runs with this configuration, at its admin port: exit 0 if it is "
        "well, else 1.");
    auto options = std::make_shared<HealthOptions>();
    health.add_option("-c,--config", options->file, "The configuration")->capture_default_str();
    CLI::Option* live = health.add_flag(
        "--live", options->live, "Whether its workers poll; otherwise a restart may help "
                                 "(default)");
    health
        .add_flag("--ready", options->ready,
                  "Whether a message would be applied now: assigned, PostgreSQL reached, no "
                  "partition halted")
        ->excludes(live);
    commands.add(health, [options] { return ask(*options); });
}

}  // namespace onceward
