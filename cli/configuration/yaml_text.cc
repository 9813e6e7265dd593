#include "cli/configuration/yaml_text.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "dedup/base/text.h"

namespace onceward {
namespace {

// What YAML 1.1 reads as a truth or as null; many editors still do.
constexpr std::array<std::string_view, 9> yaml_words = {"null", "true", "false", "yes", "no",
                                                        "on",   "off",  "y",     "n"};

std::string double_quoted(const std::string& text) {
    std::string quoted;
    append_json_string(text, quoted);  // JSON is YAML
    return safe_text(quoted, LineBreaks::escaped);
}

}  // namespace

std::string yaml_scalar(const std::string& text) {
    static const std::string plain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+-";
    const bool quoted = text.empty() || text.find_first_not_of(plain) != std::string::npos ||
                        lower_case(text) == "null" || text == "-" || text.starts_with("---");
    return quoted ? double_quoted(text) : text;
}

std::string yaml_text(const std::string& text) {
    static const std::string begins_a_number = "0123456789-+.";
    const bool other =
        text.empty() || begins_a_number.find(text.front()) != std::string::npos ||
        std::ranges::find(yaml_words, std::string_view(lower_case(text))) != yaml_words.end();
    return other ? double_quoted(text) : yaml_scalar(text);
}

std::string yaml_value(const std::string& text) { return yaml_text(replaced(text, "$", "$$")); }

}  // namespace onceward
