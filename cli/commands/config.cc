// `onceward config`: what a configuration may hold, for people (reference) and for editors
// (schema); and `onceward init`: an annotated one to start from.

#include <iostream>
#include <memory>
#include <string>

#include "cli/commands/commands.h"
#include "cli/configuration/reference.h"
#include "cli/starters.h"
#include "cli/terminal/command.h"

namespace onceward {

void add_config(CLI::App& program, Commands& commands) {
    CLI::App* command = program.add_subcommand("config", "Print what a configuration may hold");
    command->require_subcommand(1);
    CLI::App* reference =
        command->add_subcommand("reference", "Every option, as Markdown (docs/configuration.md)");
    command->add_subcommand("schema", "JSON Schema for editors (schemas/config.schema.json)");
    commands.add(*command, [reference] {
        std::cout << (reference->parsed() ? configuration_reference() : configuration_schema())
                  << std::flush;
        return std::cout.good() ? exit_ok : exit_failure;
    });
}

void add_init(CLI::App& program, Commands& commands) {
    CLI::App* command =
        program.add_subcommand("init", "Print an annotated configuration to start from");
    auto sink = std::make_shared<std::string>("table");
    command->add_option("sink", *sink, "What messages are written to")
        ->check(CLI::IsMember({"table"}))
        ->capture_default_str();
    command->footer("onceward init > onceward.yaml");
    commands.add(*command, [sink] {
        std::cout << starters::table << std::flush;
        return std::cout.good() ? exit_ok : exit_failure;
    });
}

}  // namespace onceward
