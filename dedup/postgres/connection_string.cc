#include "dedup/postgres/connection_string.h"

#include <libpq-fe.h>

#include <algorithm>
#include <memory>
#include <regex>

#include "dedup/base/nearest_name.h"

namespace onceward {

namespace {

using Parsed = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

Parsed parse(const Secret& dsn) {
    return {PQconninfoParse(dsn.reveal().c_str(), nullptr), &PQconninfoFree};
}

}  // namespace

bool valid_connection_string(const Secret& dsn) { return parse(dsn) != nullptr; }

std::string connection_string_hint(const Secret& dsn) {
    const std::string& text = dsn.reveal();
    if (text.starts_with("jdbc:")) return " `jdbc:` is Java's form: leave it out.";
    const auto dollar = text.find('$');
    if (dollar != std::string::npos && dollar + 1 < text.size() && text[dollar + 1] != '{') {
        return " A variable is put in as `${NAME}`, with braces.";
    }
    std::vector<std::string> keywords;
    const Parsed defaults(PQconndefaults(), &PQconninfoFree);
    for (const PQconninfoOption* option = defaults.get(); option && option->keyword; ++option) {
        keywords.emplace_back(option->keyword);
    }
    static const std::regex word(R"((?:^|\s)([A-Za-z_]+)\s*=)");
    for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at) {
        const std::string name = (*at)[1];
        if (std::ranges::find(keywords, name) != keywords.end()) continue;
        // Only the nearest keyword is shown: this word may be a part of the password.
        const std::string meant = did_you_mean(name, keywords);
        if (!meant.empty()) return " A keyword is unknown" + meant;
    }
    return "";
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
