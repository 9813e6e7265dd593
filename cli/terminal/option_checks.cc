#include "cli/terminal/option_checks.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "dedup/base/nearest_name.h"
#include "dedup/base/text.h"
#include "dedup/postgres/connection_string.h"

namespace onceward {
namespace {

// CLI11 writes the option's name before it.
std::string taken(const std::string& what, const std::string& text) {
    return "takes " + what + ", not `" + text + "`";
}

std::string short_text(double number) {
    std::string text = std::to_string(number);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text;
}

}  // namespace

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
    const bool bounded = most != std::numeric_limits<std::int64_t>::max();
    const std::string what =
        bounded ? "a whole number from " + std::to_string(least) + " to " + std::to_string(most)
                : "a whole number, " + std::to_string(least) + " or more";
    return CLI::Validator(
        [=](const std::string& text) {
            const auto number = number_of<std::int64_t>(text);
            const bool good = number && *number >= least && *number <= most;
            return good ? std::string() : taken(what, text);
        },
        "");
}

CLI::Validator number_above(double least) {
    return CLI::Validator(
        [=](const std::string& text) {
            const auto number = number_of<double>(text);
            return number && *number > least
                       ? std::string()
                       : taken("a number above " + short_text(least), text);
        },
        "");
}

CLI::Validator number_within(double least, double most) {
    return CLI::Validator(
        [=](const std::string& text) {
            const auto number = number_of<double>(text);
            const bool good = number && *number >= least && *number <= most;
            return good ? std::string()
                        : taken("a number from " + short_text(least) + " to " + short_text(most),
                                text);
        },
        "");
}

CLI::Validator one_of(std::vector<std::string> words) {
    std::string listed;
    for (const std::string& word : words) listed += (listed.empty() ? "" : ",") + word;
    return CLI::Validator(
        [known = std::move(words)](const std::string& text) {
            if (std::ranges::find(known, text) != known.end()) return std::string();
            return taken("one of " + joined(known), text) + did_you_mean(text, known);
        },
        "{" + listed + "}");
}

CLI::Validator not_empty(std::string what) {
    return CLI::Validator(
        [what = std::move(what)](const std::string& text) {
            return text.empty() ? "takes " + what + ", and it is empty" : std::string();
        },
        "");
}

CLI::Validator connection_string() {
    return CLI::Validator(
        [](const std::string& text) -> std::string {
            // An empty one would stand for the configured server, which nobody asked for.
            if (text.empty()) return "takes a connection string, and it is empty";
            if (valid_connection_string(Secret(text))) return "";
            return "takes a connection string that libpq understands (this one is not shown, "
                   "because it may hold a password)." +
                   connection_string_hint(Secret(text));
        },
        "");
}

}  // namespace onceward
