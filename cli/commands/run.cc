// `onceward run` and `onceward serve`: the deployed process; and `onceward health`, which asks it
// how it is, for the container's HEALTHCHECK.

#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/admin/admin_server.h"
#include "cli/commands/commands.h"
#include "cli/configuration/load.h"
#include "cli/process/serve_routes.h"
#include "cli/terminal/command.h"
#include "cli/terminal/config_file.h"
#include "cli/terminal/help.h"
#include "cli/terminal/output.h"
#include "dedup/base/logging.h"

namespace onceward {
namespace {

constexpr std::chrono::seconds health_timeout{3};

struct HealthOptions {
    ConfigFile config;
    bool live = false;
    bool ready = false;
    bool json = false;
};

// The log names the file: all lines of the process on standard error are the log's.
Configuration load_for_process(const std::string& file) {
    Configuration configuration = usable_or_throw(load_configuration(file), file);
    log_info("configuration.loaded", {{"file", file}});
    return configuration;
}

int run(const std::string& file) {
    const Configuration configuration = load_for_process(file);
    if (configuration.topics.empty()) {
        throw ConfigurationError("There is no topic to consume. `onceward serve -c " + file +
                                 "` serves the routes alone.");
    }
    return run_workers(configuration, nullptr);
}

int serve(const std::string& file) {
    const Configuration configuration = load_for_process(file);
    if (configuration.http.routes.empty()) {
        throw ConfigurationError(file +
                                 ": there is no route to serve. Write `http:`, below it "
                                 "`routes:`, and below that `- method: ...` for each.");
    }
    serve_routes(configuration, nullptr);
    return exit_ok;
}

int ask(const HealthOptions& options) {
    const Configuration configuration = load_or_throw(options.config.path());
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
    const bool well = answer.status == 200;
    if (options.json) {
        print_json({{"well", well}, {"status", answer.status}, {"answer", answer.body}});
    } else {
        std::cout << answer.body;
    }
    return well ? exit_ok : exit_failure;
}

constexpr const char* ended_by_signal = "stopped by SIGTERM or SIGINT, after its work was ended";

void add_process(CLI::App& program, Commands& commands, const char* name, const char* text,
                 const char* notes, std::vector<std::pair<int, std::string>> exit_codes,
                 int (*work)(const std::string&)) {
    CLI::App& command = *program.add_subcommand(name, text);
    auto file = std::make_shared<ConfigFile>();
    add_config_option(command, *file);
    end_help(command,
             {.notes = notes,
              .examples = {{std::string(name) + " -c onceward.yaml", "until it is stopped"}},
              .exit_codes = std::move(exit_codes)});
    commands.add(command, [file, work] { return work(file->chosen()); });
}

}  // namespace

void add_run(CLI::App& program, Commands& commands) {
    add_process(
        program, commands, "run",
        "Consume the configured topics, and serve the routes if there are any",
        "SIGTERM and SIGINT drain: the batch under way is committed, then it ends with exit 0. A "
        "second one ends it at once, which loses nothing either.",
        {{exit_ok, ended_by_signal},
         {exit_memory, "it reached its memory budget; start it again"}},
        run);
}

void add_serve(CLI::App& program, Commands& commands) {
    add_process(
        program, commands, "serve",
        "Serve the configured HTTP routes alone",
        "SIGTERM and SIGINT end it after what is under way was answered. A second one ends it at "
        "once.",
        {{exit_ok, ended_by_signal}}, serve);
}

void add_health(CLI::App& program, Commands& commands) {
    CLI::App& health = *program.add_subcommand(
        "health",
        "Ask a running process at its admin port whether it is well");
    auto options = std::make_shared<HealthOptions>();
    add_config_option(health, options->config);
    CLI::Option* live =
        health.add_flag("--live", options->live,
                        "Whether its workers poll; otherwise a restart may help (default)");
    health
        .add_flag("--ready", options->ready,
                  "Whether a message would be applied now: assigned, PostgreSQL reached, no "
                  "partition halted")
        ->excludes(live);
    health.add_flag("--json", options->json, "Print JSON, and errors as JSON");
    end_help(health, {.notes = "The address is `admin.listen` of the configuration.",
                      .examples = {{"health", "for a container's HEALTHCHECK"},
                                   {"health --ready", "for a load balancer, or after a start"}},
                      .exit_codes = {{exit_ok, "it is well"},
                                     {exit_failure, "it is not, or nothing answers"}}});
    commands.add(health, [options] { return ask(*options); });
}

}  // namespace onceward
