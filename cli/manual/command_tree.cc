#include "cli/manual/command_tree.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/terminal/help.h"

namespace onceward {
namespace {

bool names_a_file(const OptionText& option, const std::string& type) {
    if (type.find("FILE") != std::string::npos || type.find("PATH") != std::string::npos ||
        type.find("DIR") != std::string::npos) {
        return true;
    }
    if (option.positional == "file" || option.positional == "folder") return true;
    return std::any_of(option.names.begin(), option.names.end(), [](const std::string& name) {
        return name == "--config" || name == "--file" || name.ends_with("-path");
    });
}

OptionText described_option(const CLI::Option& option) {
    OptionText text;
    if (option.get_positional()) {
        text.positional = option.get_name(true);
    } else {
        for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
        for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
    }
    const std::string type = option.get_type_name();
    if (option.get_type_size() != 0) text.value = type.substr(0, type.find(':'));
    text.choices = choices_of(option);
    text.initial = option.get_default_str();
    text.text = option.get_description();
    text.required = option.get_required();
    text.repeated = option.get_expected_max() > 1;
    text.file = names_a_file(text, type);
    return text;
}

CommandText command_text(const CLI::App& app, std::vector<std::string> path) {
    CommandText command;
    command.name = app.get_name();
    path.push_back(command.name);
    command.path = path;
    command.group = app.get_group();
    command.text = app.get_description();
    command.footer = app.get_footer();
    command.needs_command = app.get_require_subcommand_min() > 0;
    for (const CLI::Option* option :
         app.get_options([](const CLI::Option* one) { return !one->get_group().empty(); })) {
        command.options.push_back(described_option(*option));
    }
    for (const CLI::App* child : shown_commands(app)) {
        command.commands.push_back(command_text(*child, path));
    }
    return command;
}

void add_all(const CommandText& command, std::vector<const CommandText*>& all) {
    all.push_back(&command);
    for (const CommandText& child : command.commands) add_all(child, all);
}

}  // namespace

std::string CommandText::words(char between) const {
    std::string words;
    for (const std::string& word : path) {
        if (!words.empty()) words += between;
        words += word;
    }
    return words;
}

CommandText command_tree(const CLI::App& program) { return command_text(program, {}); }

std::vector<const CommandText*> all_commands(const CommandText& program) {
    std::vector<const CommandText*> all;
    add_all(program, all);
    return all;
}

}  // namespace onceward
