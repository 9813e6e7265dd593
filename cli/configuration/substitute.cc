#include <cstdlib>
#include <fstream>
#include <iterator>

#include "cli/configuration/checks.h"
#include "cli/configuration/yaml_tree.h"

namespace onceward {
namespace {

constexpr std::size_t largest_file = 1 << 20;

// One ${...}: its text, or why there is none.
struct Expansion {
    std::string text{};
    std::string problem{};
    bool environment = true;  // whether the problem is the environment's, not the file's
};

Expansion from_file(const std::string& name, const std::filesystem::path& folder) {
    const std::size_t fallback = name.find(":-");
    if (fallback != std::string::npos) {
        return {.problem = "`${file:" + name.substr(0, fallback) +
                           ":-...}` is not understood: a file has no default. Remove it.",
                .environment = false};
    }
    const std::filesystem::path path = folder / name;
    const std::string the_file = "The file of `${file:" + name + "}` ";
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
        return {.problem = the_file + "does not exist: " + path.string() + "."};
    }
    std::ifstream stream(path, std::ios::binary);
    std::string text(largest_file + 1, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (stream.bad() || (!stream.is_open())) {
        return {.problem = the_file + "cannot be read: " + path.string() + "."};
    }
    text.resize(static_cast<std::size_t>(stream.gcount()));
    if (text.size() > largest_file) {
        return {.problem = the_file + "is larger than 1 MiB.", .environment = false};
    }
    // An editor's last newline is not part of a password.
    if (text.ends_with('\n')) text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
    return {.text = text};
}

Expansion expand(const std::string& inside, const std::filesystem::path& folder,
                 const LoadOptions& options) {
    if (inside.starts_with("file:")) return from_file(inside.substr(5), folder);
    const std::size_t colon = inside.find(':');
    const std::string name = inside.substr(0, colon);
    const std::string rest = colon == std::string::npos ? "" : inside.substr(colon + 1);
    if (!is_variable_name(name) ||
        (colon != std::string::npos && !rest.starts_with('-') && !rest.starts_with('?'))) {
        // What follows the name is not shown: it may be a default that holds a password.
        return {.problem = "`${" + leading_name(inside, "_") +
                           "}` is not understood. Write ${NAME}, ${NAME:-default}, "
                           "${NAME:?message} or ${file:path}; a `$` itself is `$$`.",
                .environment = false};
    }
    const std::optional<std::string> value =
        options.environment ? options.environment(name) : [&]() -> std::optional<std::string> {
        const char* found = std::getenv(name.c_str());
        return found == nullptr ? std::nullopt : std::optional<std::string>(found);
    }();
    // As in a shell, the forms with a colon take an empty variable for an unset one.
    if (value && (!value->empty() || rest.empty())) return {.text = *value};
    if (rest.starts_with('-')) return {.text = rest.substr(1)};
    if (rest.starts_with('?')) {
        return {.problem = "The variable " + name + " is not set: " + rest.substr(1)};
    }
    return {.problem = "The variable " + name + " is not set. Set it, or give a default: ${" +
                       name + ":-default}."};
}

void substitute_scalar(Node& node, const std::filesystem::path& folder, const LoadOptions& options,
                       Report& report) {
    std::string result;
    const std::string& text = node.written;
    for (std::size_t at = 0; at < text.size();) {
        if (text.compare(at, 2, "$$") == 0) {
            result += '$';
            at += 2;
            continue;
        }
        if (text.compare(at, 2, "${") != 0) {
            result += text[at++];
            continue;
        }
        const std::size_t end = text.find('}', at);
        if (end == std::string::npos) {
            report.error(node.mark, "", "A `${` has no closing `}`. A `$` itself is written `$$`.");
            node.resolved = false;
            return;
        }
        const Expansion expansion = expand(text.substr(at + 2, end - at - 2), folder, options);
        if (!expansion.problem.empty()) {
            node.resolved = false;
            if (options.strict_environment || !expansion.environment) {
                report.error(node.mark, "", expansion.problem);
            } else {
                report.warning(node.mark, "", expansion.problem);
            }
        }
        // The result is not expanded again: a value that holds `${` stays as it is.
        result += expansion.text;
        at = end + 1;
    }
    node.text = std::move(result);
}

}  // namespace

bool is_variable_name(const std::string& text) {
    const bool digit = !text.empty() && text.front() >= '0' && text.front() <= '9';
    return !text.empty() && !digit && has_only(text, "_");
}

void substitute(Node& node, const std::filesystem::path& folder, const LoadOptions& options,
                Report& report) {
    if (node.kind == Node::Kind::scalar) substitute_scalar(node, folder, options, report);
    for (Node& item : node.items) substitute(item, folder, options, report);
}

}  // namespace onceward
