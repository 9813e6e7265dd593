#include "cli/terminal/command_line.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace onceward {
namespace {

constexpr const char* left_out = "***";
constexpr std::size_t longest_line = 4000;  // of a line; a list of keys may be longer

// `password=...` of a connection string, in any spelling, or the one in `//user:password@host`.
bool holds_password(std::string word) {
    std::ranges::transform(word, word.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (word.find("password") != std::string::npos) return true;
    const std::size_t authority = word.find("://");
    if (authority == std::string::npos) return false;
    const std::string rest = word.substr(authority + 3);
    const std::size_t at = rest.rfind('@');
    return at != std::string::npos && rest.substr(0, at).find(':') != std::string::npos;
}

std::string quoted(const std::string& word) {
    const bool plain = !word.empty() && word.find_first_of(" \t\n'\"") == std::string::npos;
    return plain ? word : "'" + word + "'";
}

std::string& remembered() {
    static std::string line;
    return line;
}

}  // namespace

void remember_command_line(int argument_count, char** arguments) {
    const std::vector<std::string> words(arguments + std::min(1, argument_count),
                                         arguments + argument_count);
    remembered() = words_without_secrets(words);
}

const std::string& command_line() { return remembered(); }

std::string words_without_secrets(std::span<const std::string> words) {
    std::string line;
    bool secret = false;  // the next word
    for (const std::string& word : words) {
        const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
        const std::string name = word.substr(0, equals);
        const bool names_secret = name == "--dsn";
        line += line.empty() ? "" : " ";
        if (secret) {
            line += left_out;
        } else if (equals != std::string::npos && (names_secret || holds_password(word))) {
            line += name + "=" + left_out;
        } else {
            line += holds_password(word) && !names_secret ? left_out : quoted(word);
        }
        secret = names_secret && equals == std::string::npos;
    }
    return line.substr(0, longest_line);
}

}  // namespace onceward
