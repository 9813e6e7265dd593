// `onceward run` and `onceward serve`: the deployed process; and `onceward health`, which asks it
// how it is, for the container's HEALTHCHECK.

#include <iostream>

#include "cli/admin/admin_server.h"
#include "cli/commands/commands.h"
#include "cli/configuration/load.h"
#include "cli/process/serve_routes.h"
#include "cli/terminal/command.h"

namespace onceward {
namespace {

constexpr std::chrono::seconds health_timeout{3};

struct HealthOptions {
    std::string file = "onceward.yaml";
    bool live = false;
    bool ready = false;
};

int run(const std::string& file) {
    const Configuration configuration = load_or_throw(file);
    if (configuration.topics.empty()) {
        throw ConfigurationError("There is no topic to consume. `onceward serve -c " + file +
                                 "` serves the routes alone.");
    }
    return run_workers(configuration, nullptr);
}

int serve(const std::string& file) {
    const Configuration configuration = load_or_throw(file);
    if (configuration.http.routes.empty()) {
        throw ConfigurationError(file +
                                 ": there is no route to serve. Write `http:`, below it "
                                 "`routes:`, and below that `- method: ...` for each.");
    }
    serve_routes(configuration, nullptr);
    return exit_ok;
}

int ask(const HealthOptions& options) {
    const Configuration configuration = load_or_throw(options.file);
    if (!configuration.admin) {
        throw AdminError("admin.listen is off, so no process can be asked");
    }
    if (configuration.admin->port == 0) {
        throw AdminError("admin.listen names port 0, so the system chose a port; name one");
    }
    const AdminAnswer answer =
        ask_admin_port(*configuration.admin, options.ready ? "/readyz" : "/livez", health_timeout,
                       !configuration.admin_access.certificate_file.empty());
    if (answer.process != name_of(configuration.group)) {
        throw AdminError(to_text(*configuration.admin) +
                         " is held by a process of another group, not `" + configuration.group +
                         "`, or not by Onceward; this configuration's process has no admin port");
    }
    std::cout << answer.body;
    return answer.status == 200 ? exit_ok : exit_failure;
}

void add_process(CLI::App& program, Commands& commands, const char* name, const char* text,
                 int (*work)(const std::string&)) {
    CLI::App& command = *program.add_subcommand(name, text);
    auto file = std::make_shared<std::string>("onceward.yaml");
    command.add_option("-c,--config", *file, "The configuration")->capture_default_str();
    commands.add(command, [file, work] { return work(*file); });
}

}  // namespace

void add_run(CLI::App& program, Commands& commands) {
    add_process(
        program, commands, "run",
        "Consume the configured topics until SIGTERM, which drains; a second one leaves at once.",
        run);
}

void add_serve(CLI::App& program, Commands& commands) {
    add_process(
        program, commands, "serve",
        "Serve the configured HTTP routes until SIGTERM, which answers what is under way; a second "
        "one leaves at once.",
        serve);
}

void add_health(CLI::App& program, Commands& commands) {
    CLI::App& health = *program.add_subcommand(
        "health",
        "Ask the process that runs with this configuration, at its admin port: exit 0 if it is "
        "well, else 1.");
    auto options = std::make_shared<HealthOptions>();
    health.add_option("-c,--config", options->file, "The configuration")->capture_default_str();
    CLI::Option* live =
        health.add_flag("--live", options->live,
                        "Whether its workers poll; otherwise a restart may help (default)");
    health
        .add_flag("--ready", options->ready,
                  "Whether a message would be applied now: assigned, PostgreSQL reached, no "
                  "partition halted")
        ->excludes(live);
    commands.add(health, [options] { return ask(*options); });
}

}  // namespace onceward
