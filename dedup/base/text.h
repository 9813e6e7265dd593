#pragma once
// Small functions on text that several folders need. Pure; thread-safe.

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace onceward {

// Letters of ASCII only; other bytes stay as they are.
std::string lower_case(std::string text);

// Two lower-case digits for each byte.
std::string hex(std::string_view bytes);
// The value of a hexadecimal digit; -1 for any other character.
int hex_value(char digit);

// The whole text as a number; nullopt for anything else, also for what does not fit.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
    Number number{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

// Whether it is 36 characters as RFC 9562 writes a UUID, in either case.
bool is_uuid(std::string_view text);

// The text as a JSON string with its quotes. REQUIRES: valid UTF-8.
void append_json_string(std::string_view text, std::string& out);

}  // namespace onceward
