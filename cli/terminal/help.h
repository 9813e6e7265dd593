#pragma once
// What --help, `help` and `help --json` print of a command. CLI11 knows the commands and options;
// this lays them out: the same on every version of CLI11, wrapped to the terminal, a command's own
// options before those that all commands share. Not thread-safe; throws std::bad_alloc alone.

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

namespace onceward {

// The group of the options that say which configuration, database and group are meant.
constexpr const char* place_options = "Where";

// What follows the options.
struct HelpEnd {
    std::string notes{};  // paragraphs, divided by line breaks
    // A command line without the program's name, and what it does.
    std::vector<std::pair<std::string, std::string>> examples{};
    // Exit codes that mean something of their own here. 64, 78 and 1 are added.
    std::vector<std::pair<int, std::string>> exit_codes{};
};
void end_help(CLI::App& command, const HelpEnd& end);

// Such as `onceward dlq redrive`.
std::string full_name(const CLI::App& command);
// The only values that an option takes; empty if it takes others too.
std::vector<std::string> choices_of(const CLI::Option& option);
// Commands and subcommands that help shows, in its order.
std::vector<const CLI::App*> shown_commands(const CLI::App& app);

class HelpFormatter final : public CLI::FormatterBase {
  public:
    // `name`: not used; a command is named as it is called.
    std::string make_help(const CLI::App* app, std::string name,
                          CLI::AppFormatMode mode) const override;
};

// The command with its options, and all below it.
nlohmann::ordered_json help_json(const CLI::App& app);

}  // namespace onceward
