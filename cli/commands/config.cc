// `onceward config`: what a configuration may hold, for people (reference) and for editors
// (schema).

#include <iostream>
#include <memory>

#include "cli/commands/commands.h"
#include "cli/configuration/option_table.h"
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

}  // namespace onceward
