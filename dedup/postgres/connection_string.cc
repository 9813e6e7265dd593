#include "dedup/postgres/connection_string.h"

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <memory>
#include <ranges>
#include <string_view>

#include "dedup/base/nearest_name.h"
#include "dedup/base/text.h"

namespace onceward {

namespace {

using Parsed = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

Parsed parse(const Secret& dsn) {
    return {PQconninfoParse(dsn.reveal().c_str(), nullptr), &PQconninfoFree};
}

// The words of `word = value`, each after the text's begin or a blank. No std::regex: it calls
// itself for each character, and a long text would end the process.
std::vector<std::string> words_with_values(std::string_view text) {
    constexpr std::string_view blanks = " \t\n\v\f\r";
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    std::vector<std::string> words;
    for (std::size_t equal = text.find('='); equal != text.npos;
         equal = text.find('=', equal + 1)) {
        const std::string_view before = text.substr(0, equal);
        const std::size_t end = before.find_last_not_of(blanks) + 1;  // 0 if there is none
        const std::size_t begin = before.substr(0, end).find_last_not_of(letters) + 1;
        const bool first = begin == 0 || blanks.find(text[begin - 1]) != blanks.npos;
        if (first && begin < end) words.emplace_back(before.substr(begin, end - begin));
    }
    return words;
}

bool is_uri(std::string_view text) {
    return text.starts_with("postgresql://") || text.starts_with("postgres://");
}

// An `@` or a `/` in a URI's password ends it there. libpq then takes the rest for a host or a
// port, and its messages show it.
bool cut_by_its_password(const Secret& dsn, const PQconninfoOption* option) {
    if (!is_uri(dsn.reveal())) return false;
    for (; option != nullptr && option->keyword != nullptr; ++option) {
        if (option->val == nullptr) continue;
        const std::string_view name(option->keyword), value(option->val);
        if (name == "host" && value.find('@', 1) != value.npos) return true;
        if (name == "port" && value.find_first_not_of("0123456789,") != value.npos) return true;
    }
    return false;
}

bool possible_ports(std::string_view value) {
    // One for each host, and an empty one is the default.
    for (const auto part : std::views::split(value, ',')) {
        std::string_view port(part.begin(), part.end());
        while (port.starts_with(' ')) port.remove_prefix(1);
        while (port.ends_with(' ')) port.remove_suffix(1);
        const auto number = number_of<int>(port);
        if (!port.empty() && !(number && *number >= 1 && *number <= 65535)) return false;
    }
    return true;
}

bool possible_mode(std::string_view value) {
    constexpr std::array<std::string_view, 6> modes{"disable", "allow",     "prefer",
                                                    "require", "verify-ca", "verify-full"};
    return value.empty() || std::ranges::find(modes, value) != modes.end();
}

// What to write if a value is impossible; '' if none is. libpq refuses these only when it connects,
// which looks like a server that is away.
std::string advice_on_values(const PQconninfoOption* option) {
    for (; option != nullptr && option->keyword != nullptr; ++option) {
        if (option->val == nullptr) continue;
        const std::string_view name(option->keyword), value(option->val);
        if (name == "port" && !possible_ports(value)) {
            return " `port` is a number from 1 to 65535.";
        }
        if (name == "sslmode" && !possible_mode(value)) {
            return " `sslmode` is one of disable, allow, prefer, require, verify-ca and "
                   "verify-full.";
        }
    }
    return "";
}

}  // namespace

bool valid_connection_string(const Secret& dsn) {
    const Parsed parsed = parse(dsn);
    return parsed != nullptr && !cut_by_its_password(dsn, parsed.get()) &&
           advice_on_values(parsed.get()).empty();
}

std::string connection_string_hint(const Secret& dsn) {
    const std::string& text = dsn.reveal();
    if (text.starts_with("jdbc:")) return " `jdbc:` is Java's form: leave it out.";
    const auto dollar = text.find('$');
    if (dollar != std::string::npos && dollar + 1 < text.size() && text[dollar + 1] != '{') {
        return " A variable is put in as `${NAME}`, with braces.";
    }
    const Parsed parsed = parse(dsn);
    const std::string advice = advice_on_values(parsed.get());
    if (!advice.empty() && !cut_by_its_password(dsn, parsed.get())) return advice;
    if (is_uri(text)) {
        return " In a URI a password has `%40` for `@`, `%2F` for `/`, `%3A` for `:` and `%25` for "
               "`%`.";
    }
    std::vector<std::string> keywords;
    const Parsed defaults(PQconndefaults(), &PQconninfoFree);
    for (const PQconninfoOption* option = defaults.get(); option && option->keyword; ++option) {
        keywords.emplace_back(option->keyword);
    }
    for (const std::string& name : words_with_values(text)) {
        if (std::ranges::find(keywords, name) != keywords.end()) continue;
        // Only the nearest keyword is shown: this word may be a part of the password.
        const std::string meant = did_you_mean(name, keywords);
        if (!meant.empty()) return " A keyword is unknown" + meant;
    }
    return "";
}

std::vector<Secret> passwords_of(const Secret& dsn) {
    std::vector<Secret> passwords;
    const Parsed parsed = parse(dsn);
    for (const PQconninfoOption* option = parsed.get(); option && option->keyword; ++option) {
        // libpq marks what a program must not show.
        const bool hidden = std::string_view(option->dispchar).starts_with('*');
        if (hidden && option->val != nullptr) passwords.emplace_back(option->val);
    }
    return passwords;
}

std::vector<std::string> environment_of(const Secret& dsn) {
    std::vector<std::string> entries;
    const Parsed parsed = parse(dsn);
    // The last one has no keyword.
    for (const PQconninfoOption* option = parsed.get(); option && option->keyword; ++option) {
        if (option->envvar == nullptr || option->val == nullptr) continue;
        entries.push_back(std::string(option->envvar) + "=" + option->val);
    }
    return entries;
}

}  // namespace onceward
