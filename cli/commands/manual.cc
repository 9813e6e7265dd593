// `onceward completion`, for shells, and `onceward manual`, for packages: both are made from the
// commands themselves.

#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "cli/commands/commands.h"
#include "cli/configuration/option_table.h"
#include "cli/manual/command_tree.h"
#include "cli/manual/completion.h"
#include "cli/manual/man_page.h"
#include "cli/terminal/command.h"
#include "cli/terminal/help.h"
#include "cli/terminal/option_checks.h"

namespace onceward {
namespace {

constexpr const char* version = "onceward " ONCEWARD_VERSION;

int print_completion(const CommandText& program, const std::string& shell) {
    if (shell == "bash") std::cout << bash_completion(program);
    if (shell == "zsh") std::cout << zsh_completion(program);
    if (shell == "fish") std::cout << fish_completion(program);
    std::cout << std::flush;
    return std::cout.good() ? exit_ok : exit_failure;
}

void write(const std::filesystem::path& file, const std::string& text) {
    std::ofstream out(file);
    out << text << std::flush;
    if (!out) throw std::runtime_error(file.string() + ": cannot be written");
}

int write_manual(const CommandText& program, const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder / "man1");
    std::filesystem::create_directories(folder / "man5");
    for (const CommandText* command : all_commands(program)) {
        write(folder / "man1" / (command->words('-') + ".1"), man_page(*command, version));
    }
    write(folder / "man5" / "onceward.yaml.5",
          man_page_of_markdown(configuration_reference(), "onceward.yaml",
                               "the configuration of Onceward", version));
    return exit_ok;
}

}  // namespace

void add_manual(CLI::App& program, Commands& commands) {
    CLI::App& completion =
        *program.add_subcommand("completion", "Print the completion of commands for a shell");
    auto shell = std::make_shared<std::string>();
    completion.add_option("shell", *shell, "The shell")
        ->required()
        ->check(one_of({"bash", "zsh", "fish"}));
    end_help(completion, {.examples = {{"completion bash", "in ~/.bashrc: source <(...)"}}});
    commands.add(completion,
                 [&program, shell] { return print_completion(command_tree(program), *shell); });

    // Hidden: for the build of packages.
    CLI::App& manual = *program.add_subcommand("manual", "Write the manual pages into a folder");
    manual.group("");
    auto folder = std::make_shared<std::string>();
    manual.add_option("folder", *folder, "The folder, such as share/man")->required();
    commands.add(manual,
                 [&program, folder] { return write_manual(command_tree(program), *folder); });
}

}  // namespace onceward
