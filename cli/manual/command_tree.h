#pragma once
// The commands and options of a program as plain values, read from what CLI11 parses by: manual
// pages and completions are made from it, so they cannot disagree with the program. Pure.

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace onceward {

struct OptionText {
    std::vector<std::string> names;  // `-c`, `--config`; empty for a positional argument
    std::string positional;          // its name; empty for an option
    std::string value;               // `TEXT`; empty for a flag
    std::string initial;             // the default, as --help shows it
    std::string text;
    std::vector<std::string> choices;  // the only values; empty: any
    bool required = false;
    bool repeated = false;
    bool file = false;  // the value is a file's name

    bool flag() const { return positional.empty() && value.empty(); }
};

struct CommandText {
    std::string name;                 // `list`
    std::vector<std::string> path;    // onceward, dlq, list
    std::string group;                // the heading in its parent's help
    std::string text;
    std::string footer;
    std::vector<OptionText> options;  // positional arguments too, in the order of --help
    std::vector<CommandText> commands;
    bool needs_command = false;

    std::string words(char between = ' ') const;  // `onceward dlq list`
};

// Without hidden commands and options.
CommandText command_tree(const CLI::App& program);

// The command and all below it, each before those below it.
std::vector<const CommandText*> all_commands(const CommandText& program);

}  // namespace onceward
