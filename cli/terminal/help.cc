#include "cli/terminal/help.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/terminal/exit_code.h"
#include "cli/terminal/option_checks.h"
#include "cli/terminal/style.h"

namespace onceward {
namespace {

constexpr int usual_columns = 100;
constexpr int fewest_columns = 60;
constexpr std::size_t text_column = 30;

std::size_t columns() {
    return static_cast<std::size_t>(
        std::clamp(terminal_columns(std::cout, usual_columns), fewest_columns, usual_columns));
}

// Puts the text's words on lines of that many columns; each line but the first begins after
// `indent`.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t column) {
    std::string out;
    std::size_t begin = 0;
    while (begin < text.size()) {
        std::size_t end = std::min(text.find(' ', begin), text.size());
        const bool first_word = begin == 0;
        if (!first_word && column + 1 + (end - begin) > columns()) {
            out += '\n' + std::string(indent, ' ');
            column = indent;
        } else if (!first_word) {
            out += ' ';
            ++column;
        }
        out += text.substr(begin, end - begin);
        column += end - begin;
        begin = end + 1;
    }
    return out + '\n';
}

// Two columns.
std::string row(const std::string& left, const std::string& right) {
    std::string line = "  " + left;
    if (right.empty()) return line + '\n';
    if (line.size() + 2 > text_column) {
        line += '\n' + std::string(text_column, ' ');
    } else {
        line.resize(text_column, ' ');
    }
    return line + wrapped(right, text_column, text_column);
}

// CLI11 writes the descriptions of its checks after a colon.
std::pair<std::string, std::string> type_of(const CLI::Option& option) {
    const std::string type = option.get_type_size() == 0 ? "" : option.get_type_name();
    const auto colon = type.find(':');
    if (colon == std::string::npos) return {type, ""};
    const std::vector<std::string> choices = choices_of(option);
    return {type.substr(0, colon),
            choices.empty() ? type.substr(colon + 1) : "one of " + joined(choices)};
}

bool takes_several(const CLI::Option& option) {
    return option.get_expected_max() == CLI::detail::expected_max_vector_size;
}

std::string option_name(const CLI::Option& option) {
    const std::string type = type_of(option).first;
    if (option.get_positional()) {
        std::string name = option.get_name(true, false);
        std::ranges::transform(name, name.begin(),
                               [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
        return name;
    }
    std::string names;
    for (const std::string& name : option.get_snames()) names += "-" + name + ", ";
    if (names.empty()) names = "    ";
    for (const std::string& name : option.get_lnames()) names += "--" + name + ", ";
    names.erase(names.find_last_not_of(", ") + 1);
    return names + (type.empty() ? "" : " " + type) + (takes_several(option) ? "..." : "");
}

std::string names_of(const std::set<CLI::Option*>& options) {
    std::vector<std::string> names;
    for (const CLI::Option* option : options) names.push_back(option->get_name());
    std::ranges::sort(names);
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

std::string option_text(const CLI::Option& option) {
    std::string text = option.get_description();
    const auto add = [&text](const std::string& more) { text += " [" + more + "]"; };
    if (const std::string choice = type_of(option).second; !choice.empty()) add(choice);
    if (!option.get_default_str().empty()) add("default: " + option.get_default_str());
    if (option.get_required()) add("required");
    if (!option.get_needs().empty()) add("needs " + names_of(option.get_needs()));
    if (!option.get_excludes().empty()) add("not with " + names_of(option.get_excludes()));
    return text;
}

std::vector<const CLI::Option*> options_of(const CLI::App& app, bool positional) {
    return app.get_options([positional](const CLI::Option* option) {
        return option->get_positional() == positional && !option->get_group().empty();
    });
}

std::string usage(const CLI::App& app) {
    std::string text = "Usage: " + full_name(app);
    if (!shown_commands(app).empty()) {
        text += app.get_require_subcommand_min() > 0 ? " COMMAND" : " [COMMAND]";
    }
    for (const CLI::Option* option : options_of(app, true)) {
        const std::string name = option_name(*option) + (takes_several(*option) ? "..." : "");
        text += option->get_required() ? " " + name : " [" + name + "]";
    }
    return text + " [OPTIONS]\n";
}

std::string option_group(const CLI::App& app, const std::string& group) {
    std::string text;
    for (const CLI::Option* option : options_of(app, false)) {
        if (option->get_group() != group) continue;
        text += row(option_name(*option), option_text(*option));
    }
    return text.empty() ? text : "\n" + group + ":\n" + text;
}

std::string commands_text(const CLI::App& app) {
    std::string text;
    std::vector<std::string> groups;
    for (const CLI::App* command : shown_commands(app)) {
        if (std::ranges::find(groups, command->get_group()) != groups.end()) continue;
        groups.push_back(command->get_group());
        text += "\n" + (command->get_group() == "Subcommands" ? "Commands" : groups.back()) + ":\n";
        for (const CLI::App* one : shown_commands(app)) {
            if (one->get_group() != groups.back()) continue;
            text += row(one->get_name(), one->get_description());
        }
    }
    return text;
}

std::string paragraphs(const std::string& text) {
    std::string out;
    for (const std::string& line : CLI::detail::split(text, '\n')) {
        if (line.starts_with("  ")) {
            // An example: its description is in a column of its own if there is room.
            out += line + '\n';
        } else {
            out += line.empty() ? "\n" : wrapped(line, 0, 0);
        }
    }
    return out;
}

nlohmann::ordered_json option_json(const CLI::Option& option) {
    const auto [type, choice] = type_of(option);
    nlohmann::ordered_json json{{"name", option.get_positional() ? option_name(option)
                                                                 : option.get_name()},
                                {"description", option.get_description()},
                                {"type", type},
                                {"required", option.get_required()},
                                {"several", takes_several(option)}};
    if (!option.get_snames().empty()) json["short"] = "-" + option.get_snames().front();
    if (!choice.empty()) json["check"] = choice;
    if (!option.get_default_str().empty()) json["default"] = option.get_default_str();
    return json;
}

}  // namespace

std::string full_name(const CLI::App& command) {
    const CLI::App* parent = command.get_parent();
    return (parent == nullptr ? "" : full_name(*parent) + " ") + command.get_name();
}

std::vector<std::string> choices_of(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    const std::size_t from = type.find('{');
    const std::size_t to = type.find('}');
    if (from == std::string::npos || to == std::string::npos || to < from) return {};
    return CLI::detail::split(type.substr(from + 1, to - from - 1), ',');
}

std::vector<const CLI::App*> shown_commands(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App* command) {
        return !command->get_name().empty() && !command->get_group().empty();
    });
}

void end_help(CLI::App& command, const HelpEnd& end) {
    std::string text = end.notes.empty() ? "" : end.notes + "\n";
    if (!end.examples.empty()) text += (text.empty() ? "" : "\n") + std::string("Examples:\n");
    for (const auto& [line, meaning] : end.examples) {
        text += "  # " + meaning + "\n  onceward " + line + "\n";
    }
    std::vector<std::pair<int, std::string>> codes = end.exit_codes;
    const auto add = [&codes](int code, const char* meaning) {
        if (std::ranges::find(codes, code, &std::pair<int, std::string>::first) == codes.end()) {
            codes.emplace_back(code, meaning);
        }
    };
    add(exit_ok, "done");
    add(exit_failure, "it failed");
    add(exit_usage, "the command line is wrong");
    add(exit_config, "the configuration is wrong");
    std::ranges::sort(codes);
    std::string all;
    for (const auto& [code, meaning] : codes) {
        all += (all.empty() ? "" : "; ") + std::to_string(code) + " " + meaning;
    }
    command.footer(text + (text.empty() ? "" : "\n") + "Exit codes: " + all + ".");
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const {
    std::string text = wrapped(app->get_description(), 0, 0) + "\n" + usage(*app);
    std::string arguments;
    for (const CLI::Option* option : options_of(*app, true)) {
        arguments += row(option_name(*option), option_text(*option));
    }
    if (!arguments.empty()) text += "\nArguments:\n" + arguments;
    text += commands_text(*app);
    const std::vector<std::string> groups = app->get_groups();
    for (const std::string& group : groups) {
        if (!group.empty() && group != place_options) text += option_group(*app, group);
    }
    text += option_group(*app, place_options);
    if (!app->get_footer().empty()) text += "\n" + paragraphs(app->get_footer());
    return text;
}

nlohmann::ordered_json help_json(const CLI::App& app) {
    nlohmann::ordered_json json{{"name", full_name(app)},
                                {"group", app.get_parent() == nullptr ? "" : app.get_group()},
                                {"description", app.get_description()}};
    std::string line = usage(app).substr(std::string("Usage: ").size());
    line.pop_back();
    json["usage"] = line;
    json["arguments"] = nlohmann::ordered_json::array();
    for (const CLI::Option* option : options_of(app, true)) {
        json["arguments"].push_back(option_json(*option));
    }
    json["options"] = nlohmann::ordered_json::array();
    for (const CLI::Option* option : options_of(app, false)) {
        json["options"].push_back(option_json(*option));
    }
    json["more"] = app.get_footer();
    json["commands"] = nlohmann::ordered_json::array();
    for (const CLI::App* command : shown_commands(app)) {
        json["commands"].push_back(help_json(*command));
    }
    return json;
}

}  // namespace onceward
