#pragma once
// The lexical rules of RFC 8259 that simdjson leaves to its typed getters. Pure functions.

#include <string_view>

namespace onceward {

// Containers inside each other; PostgreSQL's own parser and ours need stack for each.
constexpr int json_depth_max = 500;

constexpr bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

constexpr std::string_view trim_json_space(std::string_view text) {
    while (!text.empty() && is_json_space(text.back())) {
        text.remove_suffix(1);
    }
    while (!text.empty() && is_json_space(text.front())) {
        text.remove_prefix(1);
    }
    return text;
}

constexpr std::size_t json_digits(std::string_view text, std::size_t at) {
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
        ++at;
    }
    return at;
}

// Whether all of `text` is one number.
constexpr bool is_json_number(std::string_view text) {
    std::size_t at = !text.empty() && text[0] == '-' ? 1 : 0;
    const std::size_t whole = json_digits(text, at);
    if (whole == at || (text[at] == '0' && whole > at + 1)) {
        return false;
    }
    at = whole;
    if (at < text.size() && text[at] == '.') {
        const std::size_t fraction = json_digits(text, at + 1);
        if (fraction == at + 1) {
            return false;
        }
        at = fraction;
    }
    if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
        ++at;
        if (at < text.size() && (text[at] == '+' || text[at] == '-')) {
            ++at;
        }
        const std::size_t exponent = json_digits(text, at);
        if (exponent == at) {
            return false;
        }
        at = exponent;
    }
    return at == text.size();
}

}  // namespace onceward
