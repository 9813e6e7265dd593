// What a configuration may hold and what it means: `onceward config` for people (reference) and for
// editors (schema), with the metrics of a process; and `onceward describe`, the contract that it
// makes, for people who send and for their tools.

#include <iostream>
#include <memory>
#include <string>

#include "cli/admin/metrics_page.h"
#include "cli/commands/commands.h"
#include "cli/composition/gateway_options.h"
#include "cli/configuration/load.h"
#include "cli/configuration/option_table.h"
#include "cli/describe/topic_contract.h"
#include "cli/terminal/command.h"
#include "cli/terminal/config_file.h"
#include "cli/terminal/help.h"

namespace onceward {
namespace {

struct DescribeOptions {
    ConfigFile config;
    bool open_api = false;
};

// Addresses of servers, secrets and what one process may use are not in the contract. Their
// variables are not set where the contract is printed, for instance to build clients.
bool is_no_part_of_contract(const std::string& path) {
    for (const char* section : {"postgres.", "kafka.", "admin.", "http.tls.", "registries[",
                                "traces.", "logging.", "memory.", "batch."}) {
        if (path.starts_with(section)) return true;
    }
    for (const char* option :
         {".dsn", ".operator_dsn", ".secret", ".previous_secret", ".url", ".ca_file"}) {
        if (path.ends_with(option)) return true;
    }
    return path == "http.listen" || path == "workers" || path == "drain_timeout";
}

Configuration load_for_contract(const std::string& file) {
    LoadOptions lenient;
    lenient.strict_environment = false;
    LoadResult loaded = load_configuration(file, lenient);
    const std::set<std::string> unknown = loaded.unknown;
    Configuration configuration = usable_or_throw(std::move(loaded), file);
    for (const std::string& path : unknown) {
        if (is_no_part_of_contract(path)) continue;
        throw ConfigurationError(file + ": " + path +
                                 ": The contract depends on this, and its variable is not set.");
    }
    return configuration;
}

int print(std::string_view text) {
    std::cout << text << std::flush;
    return std::cout.good() ? exit_ok : exit_failure;
}

int describe(const DescribeOptions& options) {
    const std::string file = options.config.path();
    const Configuration configuration = load_for_contract(file);
    const Contract contract = contract_of(configuration, ONCEWARD_VERSION);
    if (options.open_api) {
        if (contract.routes.empty()) {
            throw ConfigurationError(file + ": OpenAPI describes routes, and there is none.");
        }
        return print(open_api(contract));
    }
    return print(topic_contracts(configuration) +
                 (contract.routes.empty() ? "" : contract_text(contract)));
}

}  // namespace

void add_config(CLI::App& program, Commands& commands) {
    CLI::App* command =
        program.add_subcommand("config", "Print every option of a configuration, and every metric");
    command->require_subcommand(1);
    CLI::App* reference = command->add_subcommand(
        "reference", "Print every option, its default and its meaning, as Markdown");
    CLI::App* schema = command->add_subcommand(
        "schema", "Print the JSON Schema, by which an editor completes and checks the file");
    end_help(*schema, {.examples = {{"config schema > onceward.schema.json",
                                     "next to the file, whose first line names it"}}});
    end_help(*reference, {.examples = {{"config reference > reference.md", "for a page"}}});
    CLI::App* metrics = command->add_subcommand(
        "metrics", "Print every metric, its type, labels, unit and meaning, as Markdown");
    end_help(*metrics, {.examples = {{"config metrics > metrics.md", "for a page"}}});
    commands.add(*command, [reference, metrics] {
        if (metrics->parsed()) return print(metrics_page());
        return print(reference->parsed() ? configuration_reference() : configuration_schema());
    });
}

void add_describe(CLI::App& program, Commands& commands) {
    CLI::App& command = *program.add_subcommand(
        "describe",
        "Print what senders can rely on: which key they send, what a repeat gets, for how long");
    auto options = std::make_shared<DescribeOptions>();
    add_config_option(command, options->config);
    command.add_flag("--openapi", options->open_api, "The routes as OpenAPI 3.1, in JSON");
    end_help(command,
             {.notes = "Variables that are not set are no error here, unless the contract depends "
                       "on one.",
              .examples = {{"describe", "for people"},
                           {"describe --openapi > openapi.json", "for tools, the routes alone"}}});
    commands.add(command, [options] { return describe(*options); });
}

}  // namespace onceward
