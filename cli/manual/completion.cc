#include "cli/manual/completion.h"

#include <algorithm>

#include "dedup/base/text.h"

namespace onceward {
namespace {

// In single quotes of a shell of the Bourne kind.
std::string shell_quoted(const std::string& text) {
    return "'" + replaced(text, "'", "'\\''") + "'";
}

std::string joined_by(const std::vector<std::string>& words, const std::string& between) {
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : between) + word;
    return line;
}

std::string on_one_line(const std::string& text) { return replaced(text, "\n", " "); }

// `'onceward dlq' | 'onceward dlq list' | ...`: the words that lead to a command below the program.
std::string command_patterns(const CommandText& program, const std::string& between) {
    std::vector<std::string> patterns;
    for (const CommandText* command : all_commands(program)) {
        if (command->path.size() > 1) patterns.push_back(shell_quoted(command->words()));
    }
    return joined_by(patterns, between);
}

const OptionText* positional_of(const CommandText& command) {
    const auto found = std::find_if(command.options.begin(), command.options.end(),
                                    [](const OptionText& one) { return !one.positional.empty(); });
    return found == command.options.end() ? nullptr : &*found;
}

// A case of bash for the word after an option: file names, the choices, or nothing.
std::string bash_values(const CommandText& command, const OptionText& option) {
    if (!option.positional.empty() || option.flag()) return "";
    std::vector<std::string> patterns;
    for (const std::string& name : option.names) {
        patterns.push_back(shell_quoted(command.words() + " " + name));
    }
    std::string action = "return";
    if (option.file) {
        action = "compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$cur\")); return";
    } else if (!option.choices.empty()) {
        action = "words=" + shell_quoted(joined_by(option.choices, " "));
    }
    return "        " + joined_by(patterns, " | ") + ") " + action + " ;;\n";
}

std::string bash_words(const CommandText& command) {
    std::vector<std::string> words;
    for (const CommandText& child : command.commands) words.push_back(child.name);
    const OptionText* positional = positional_of(command);
    if (positional != nullptr) {
        words.insert(words.end(), positional->choices.begin(), positional->choices.end());
    }
    for (const OptionText& option : command.options) {
        words.insert(words.end(), option.names.begin(), option.names.end());
    }
    const std::string files = positional != nullptr && positional->file ? "files=1; " : "";
    return "        " + shell_quoted(command.words()) + ") " + files + "words=" +
           shell_quoted(joined_by(words, " ")) + " ;;\n";
}

// In the brackets and after the colons of _arguments.
std::string zsh_text(const std::string& text) {
    std::string out;
    for (const char c : on_one_line(text)) {
        if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

std::string zsh_action(const OptionText& option) {
    if (option.file) return "_files";
    if (!option.choices.empty()) return "(" + joined_by(option.choices, " ") + ")";
    return " ";
}

// The entries of _arguments for an option: one for each of its names.
std::string zsh_option(const OptionText& option) {
    constexpr const char* next = " \\\n                ";
    if (!option.positional.empty()) {
        const char* kind = option.repeated ? "*:" : option.required ? ":" : "::";
        return next + shell_quoted(kind + zsh_text(option.positional) + ":" + zsh_action(option));
    }
    const std::string value =
        option.flag() ? "" : ":" + zsh_text(option.value) + ":" + zsh_action(option);
    const std::string all = option.repeated ? "*" : "(" + joined_by(option.names, " ") + ")";
    std::string entries;
    for (const std::string& name : option.names) {
        entries += next + shell_quoted(all + name + "[" + zsh_text(option.text) + "]" + value);
    }
    return entries;
}

std::string zsh_command(const CommandText& command) {
    std::string entries;
    for (const OptionText& option : command.options) entries += zsh_option(option);
    std::string commands;
    for (const CommandText& child : command.commands) {
        commands += "\n                " + shell_quoted(child.name + ":" + on_one_line(child.text));
    }
    if (!commands.empty()) {
        entries += " \\\n                '1:command:->command'";
        commands = "            commands=(" + commands + ")\n";
    }
    const std::string begin = "        (" + shell_quoted(command.words()) + ")\n";
    return begin + commands + "            _arguments -s" +
           entries + " ;;\n";
}

std::string fish_quoted(const std::string& text) {
    return "'" + replaced(replaced(on_one_line(text), "\\", "\\\\"), "'", "\\'") + "'";
}

std::string fish_command(const CommandText& command) {
    const std::string begin =
        "complete -c onceward -n " + fish_quoted("__onceward_at " + command.words());
    std::string lines;
    for (const CommandText& child : command.commands) {
        lines += begin + " -a " + child.name + " -d " + fish_quoted(child.text) + "\n";
    }
    for (const OptionText& option : command.options) {
        std::string line = begin;
        for (const std::string& name : option.names) {
            const bool is_long = name.starts_with("--");
            line += (is_long ? " -l " : " -s ") + name.substr(is_long ? 2 : 1);
        }
        if (option.file) {
            line += " -F";
        } else if (!option.choices.empty()) {
            line += " -a " + fish_quoted(joined_by(option.choices, " "));
        } else if (!option.positional.empty()) {
            continue;
        }
        if (!option.flag() && option.positional.empty()) line += " -r";
        lines += line + " -d " + fish_quoted(option.text) + "\n";
    }
    return lines;
}

}  // namespace

std::string bash_completion(const CommandText& program) {
    std::string values;
    std::string words;
    for (const CommandText* command : all_commands(program)) {
        for (const OptionText& option : command->options) values += bash_values(*command, option);
        words += bash_words(*command);
    }
    return "# bash completion for onceward, written by `onceward completion bash`.\n"
           "_onceward() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} at=onceward words='' files='' i\n"
           "    for ((i = 1; i < COMP_CWORD; ++i)); do\n"
           "        case \"$at ${COMP_WORDS[i]}\" in\n"
           "        " +
           command_patterns(program, " | \\\n        ") +
           ")\n            at=\"$at ${COMP_WORDS[i]}\" ;;\n"
           "        esac\n    done\n    COMPREPLY=()\n"
           "    case \"$at ${COMP_WORDS[COMP_CWORD - 1]}\" in\n" +
           values +
           "    esac\n    if [ -z \"$words\" ]; then\n        case \"$at\" in\n" + words +
           "        esac\n    fi\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
           "    if [ -n \"$files\" ] && [ ${#COMPREPLY[@]} -eq 0 ]; then\n"
           "        compopt -o filenames 2>/dev/null\n"
           "        COMPREPLY=($(compgen -f -- \"$cur\"))\n    fi\n}\n"
           "complete -F _onceward onceward\n";
}

std::string zsh_completion(const CommandText& program) {
    std::string cases;
    for (const CommandText* command : all_commands(program)) cases += zsh_command(*command);
    return "#compdef onceward\n"
           "# zsh completion for onceward, written by `onceward completion zsh`.\n"
           "_onceward() {\n"
           "    local at=onceward state line\n"
           "    local -a commands\n"
           "    integer i depth=1\n"
           "    for ((i = 2; i < CURRENT; ++i)); do\n"
           "        case \"$at ${words[i]}\" in\n"
           "        (" +
           command_patterns(program, "|") +
           ")\n            at=\"$at ${words[i]}\"; depth=$i ;;\n"
           "        esac\n    done\n"
           "    shift $((depth - 1)) words\n"
           "    ((CURRENT -= depth - 1))\n"
           "    case $at in\n" +
           cases +
           "    esac\n"
           "    if [[ $state == command ]]; then _describe command commands; fi\n}\n"
           "if [ \"$funcstack[1]\" = _onceward ]; then _onceward \"$@\"; "
           "else compdef _onceward onceward; fi\n";
}

std::string fish_completion(const CommandText& program) {
    std::string lines =
        "# fish completion for onceward, written by `onceward completion fish`.\n"
        "function __onceward_at\n"
        "    set -l at onceward\n"
        "    for word in (commandline -opc)[2..]\n"
        "        switch \"$at $word\"\n"
        "            case " +
        command_patterns(program, " ") +
        "\n                set at \"$at $word\"\n"
        "        end\n    end\n"
        "    test \"$at\" = \"$argv\"\nend\n"
        "complete -c onceward -f\n";
    for (const CommandText* command : all_commands(program)) lines += fish_command(*command);
    return lines;
}

}  // namespace onceward
