#include "cli/program.h"

#include <exception>
#include <iostream>
#include <vector>

#include "cli/configuration/load.h"
#include "cli/terminal/command.h"
#include "cli/terminal/safe_output.h"
#include "dedup/base/nearest_name.h"

namespace onceward {
namespace {

// If an unknown command was given: a sentence with the nearest one; else ''.
// CLI11 itself says only that a subcommand is required.
std::string unknown_command(const CLI::App& program, int argument_count, char** arguments) {
    const CLI::App* app = &program;
    for (int i = 1; i < argument_count; ++i) {
        const std::string word = arguments[i];
        if (app->get_require_subcommand_min() == 0 || word.starts_with('-')) return "";
        std::vector<std::string> names;
        const CLI::App* next = nullptr;
        for (const CLI::App* command : app->get_subcommands([](const CLI::App*) { return true; })) {
            names.push_back(command->get_name());
            if (command->get_name() == word) next = command;
        }
        if (next == nullptr) {
            const std::string of = app == &program ? "" : " of `" + app->get_name() + "`";
            const std::string hint = did_you_mean(word, names);
            return program.get_name() + ": there is no command `" + word + "`" + of +
                   (hint.empty() ? ". See --help." : hint);
        }
        app = next;
    }
    return "";
}

int run(const ProgramText& text, void (*add)(CLI::App&, Commands&), int argument_count,
        char** arguments) {
    CLI::App program{text.description, text.name};
    program.require_subcommand(1);
    program.set_version_flag("--version", text.name + " " + text.version);
    program.get_formatter()->column_width(36);
    Commands commands;
    add(program, commands);
    try {
        program.parse(argument_count, arguments);
    } catch (const CLI::ParseError& error) {
        const std::string unknown = unknown_command(program, argument_count, arguments);
        if (error.get_exit_code() != 0 && !unknown.empty()) {
            std::cerr << unknown << "\n";
            return exit_usage;
        }
        // 0 for --help and --version, which are 'errors' for CLI11.
        return program.exit(error) == 0 ? exit_ok : exit_usage;
    }
    try {
        return commands.run();
    } catch (const ConfigurationError& error) {
        std::cerr << error.what() << '\n';
        return exit_config;
    } catch (const std::exception& error) {
        std::cerr << text.name << ": " << error.what() << '\n';
        return exit_failure;
    }
}

}  // namespace

int run_program(const ProgramText& text, void (*add)(CLI::App&, Commands&), int argument_count,
                char** arguments) {
    const SafeOutput safe;
    try {
        return run(text, add, argument_count, arguments);
    } catch (const std::exception& error) {
        std::cerr << text.name << ": " << error.what() << '\n';
        return exit_software;
    }
}

}  // namespace onceward
