// The program: reads the command line and runs one command. Every failure ends here, as a line on
// standard error and an exit code.

#include <exception>
#include <iostream>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/configuration/load.h"
#include "cli/safe_output.h"

namespace {

int run(int argument_count, char** arguments) {
    using namespace onceward;
    CLI::App program{
        "Consumes Kafka topics into PostgreSQL; each idempotency key takes effect once.",
        "onceward"};
    program.require_subcommand(1);
    program.set_version_flag("--version", std::string("onceward ") + ONCEWARD_VERSION);
    program.get_formatter()->column_width(36);
    Commands commands;
    add_all_commands(program, commands);
    try {
        program.parse(argument_count, arguments);
    } catch (const CLI::ParseError& error) {
        // 0 for --help and --version, which are 'errors' for CLI11.
        return program.exit(error) == 0 ? exit_ok : exit_usage;
    }
    try {
        return commands.run();
    } catch (const ConfigurationError& error) {
        std::cerr << error.what() << '\n';
        return exit_config;
    } catch (const std::exception& error) {
        std::cerr << "onceward: " << error.what() << '\n';
        return exit_failure;
    }
}

}  // namespace

int main(int argument_count, char** arguments) {
    const onceward::SafeOutput safe;
    try {
        return run(argument_count, arguments);
    } catch (const std::exception& error) {
        std::cerr << "onceward: " << error.what() << '\n';
        return onceward::exit_software;
    }
}
