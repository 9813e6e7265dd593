#include "cli/parse_failure.h"

#include <algorithm>
#include <filesystem>

#include "cli/terminal/help.h"
#include "cli/terminal/option_checks.h"
#include "dedup/base/nearest_name.h"

namespace onceward {
namespace {

std::string quoted(const std::string& text) { return "`" + text + "`"; }

std::vector<std::string> command_names(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* command :
         app.get_subcommands([](const CLI::App* one) { return !one->get_name().empty(); })) {
        names.push_back(command->get_name());
    }
    return names;
}

const CLI::App* command_named(const CLI::App& app, const std::string& name) {
    const auto found = app.get_subcommands(
        [&name](const CLI::App* command) { return command->get_name() == name; });
    return found.empty() ? nullptr : found.front();
}

// The command that the command line chose.
const CLI::App& chosen(const CLI::App& program) {
    const CLI::App* app = &program;
    while (!app->get_subcommands().empty()) app = app->get_subcommands().back();
    return *app;
}

std::string see_help(const CLI::App& app) {
    const std::string name = full_name(app);
    return quoted(name + " --help") + " shows how it is used";
}

UsageError no_such_command(const CLI::App& app, const std::string& word) {
    const bool whole_program = app.get_parent() == nullptr;
    const std::vector<std::string> names = command_names(app);
    // What people write who know other programs.
    const bool run = word == "start" && std::ranges::find(names, "run") != names.end();
    const std::string near = did_you_mean(run ? "run" : word, names);
    return UsageError("there is no command " + quoted(word) +
                          (whole_program ? "" : " of " + quoted(app.get_name())) + near,
                      whole_program ? quoted(full_name(app) + " help") + " lists the commands"
                                    : "its commands are " + joined(command_names(app)));
}

bool names_a_file(const std::string& word) {
    std::error_code ignored;
    return word.ends_with(".yaml") || word.ends_with(".yml") ||
           std::filesystem::is_regular_file(word, ignored);
}

// A word that no command or option takes.
UsageError unexpected(const CLI::App& app, const std::string& word) {
    if (word == "--json" && app.get_parent() == nullptr) {
        return UsageError("--json comes after a command", see_help(app));
    }
    if (word.starts_with('-') && word.size() > 1) {
        std::vector<std::string> names;
        for (const CLI::Option* option : app.get_options()) {
            for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
        }
        const std::string name = word.substr(0, word.find('='));
        const bool version = name == "-v" && app.get_parent() == nullptr;
        return UsageError("there is no option " + quoted(name) +
                              did_you_mean(version ? "--version" : name, names),
                          see_help(app));
    }
    if (app.get_option_no_throw("--config") != nullptr && names_a_file(word)) {
        return UsageError("nothing takes the word " + quoted(word),
                          quoted(app.get_name()) + " reads the file of `-c`: " +
                              quoted(full_name(app) + " -c " + word));
    }
    const bool arguments = !app.get_options([](const CLI::Option* option) {
                                   return option->get_positional();
                               }).empty();
    if (!arguments && !command_names(app).empty()) return no_such_command(app, word);
    return UsageError("nothing takes the word " + quoted(word), see_help(app));
}

// As help shows it.
std::string shown_name(const CLI::Option& option) {
    std::string name = option.get_name();
    if (!option.get_positional()) return name;
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return name;
}

// The option that CLI11's text begins with, or names before ` = `.
const CLI::Option* option_in(const CLI::App& app, const std::string& text) {
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& begin :
             {option->get_name() + ":", option->get_name() + " ",
              "Could not convert: " + option->get_name() + " ="}) {
            if (text.starts_with(begin)) return option;
        }
    }
    return nullptr;
}

// CLI11 names one of them, by an order of addresses.
std::vector<std::string> missing_of(const CLI::Option& option) {
    std::vector<std::string> names;
    for (const CLI::Option* needed : option.get_needs()) {
        if (needed->count() == 0) names.push_back(shown_name(*needed));
    }
    std::ranges::sort(names);
    return names;
}

std::string text_of(const CLI::App& app, const CLI::ParseError& error) {
    const std::string text = error.what();
    const CLI::Option* option = option_in(app, text);
    if (option == nullptr) return text;
    const std::string name = shown_name(*option);
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
        return option->count() > 1 ? name + " was given " + std::to_string(option->count()) +
                                         " times, and takes one value"
                                   : name + " needs a value";
    }
    if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
        const std::string value = text.substr(text.rfind(" = ") + 3);
        return option->get_type_name().empty() ? name + " takes no value"
                                               : name + " takes a number, not " + quoted(value);
    }
    const std::string rest = text.substr(text.find(' '));
    if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
        return name + " cannot be given together with" + rest.substr(rest.rfind(' '));
    }
    if (dynamic_cast<const CLI::RequiresError*>(&error) != nullptr) {
        return name + " needs " + joined(missing_of(*option)) + " as well";
    }
    // CLI11 writes the option's name, a colon, and then what a check says.
    return name + rest;
}

}  // namespace

std::optional<UsageError> unknown_command(const CLI::App& program,
                                          const std::vector<std::string>& arguments) {
    const CLI::App* app = &program;
    for (const std::string& word : arguments) {
        if (app->get_require_subcommand_min() == 0 || word.starts_with('-')) return std::nullopt;
        const CLI::App* next = command_named(*app, word);
        if (next == nullptr) return no_such_command(*app, word);
        app = next;
    }
    return std::nullopt;
}

UsageError usage_error_of(const CLI::App& program, const CLI::ParseError& error) {
    const CLI::App& app = chosen(program);
    const bool no_command = app.get_require_subcommand_min() > 0;
    if (no_command || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
        const std::vector<std::string> words = program.remaining(true);
        // The value of an unknown option is among these words too, so options come first.
        const auto option = std::ranges::find_if(
            words, [](const std::string& word) { return word.starts_with('-'); });
        if (option != words.end()) return unexpected(app, *option);
        if (!words.empty()) return unexpected(app, words.front());
    }
    if (no_command && app.get_parent() == nullptr) {
        return UsageError("a command is missing", quoted(full_name(app) + " help") +
                                                      " lists the commands");
    }
    if (no_command) {
        return UsageError("a command is missing: " + joined(command_names(app)), see_help(app));
    }
    return UsageError(text_of(app, error), see_help(app));
}

}  // namespace onceward
