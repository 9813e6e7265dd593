#pragma once
// Small functions on text that several folders need. Pure; thread-safe.

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace onceward {

// Letters of ASCII only; other bytes stay as they are.
std::string lower_case(std::string text);

// With each `what` in it replaced. REQUIRES: `what` is not empty.
std::string replaced(std::string text, std::string_view what, std::string_view with);

// Two lower-case digits for each byte.
std::string hex(std::string_view bytes);
// The value of a hexadecimal digit; -1 for any other character.
int hex_value(char digit);

// With its padding.
std::string base64(std::string_view bytes);
// Appends the bytes of base64 with its padding and without blanks. False for anything else; what
// was appended means nothing then.
[[nodiscard]] bool append_base64(std::string_view text, std::string& out);

// The whole text as a number; nullopt for anything else, and for a number that does not fit.
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

// Text that came from outside, made safe to print. A message's bytes could otherwise clear a
// terminal, set its title or forge lines of a log. Pure; thread-safe.
//
// It escapes control characters (C0, DEL and C1), marks that are invisible or change the direction
// of text, and bytes that are not UTF-8. Characters become \u001b and the like, which JSON reads as
// the same character; bytes become \x9b.
enum class LineBreaks { kept, escaped };

// `kept` leaves tabs and line breaks as they are.
std::string safe_text(std::string_view bytes, LineBreaks breaks);

// One value within a line: no line breaks, and at most `most` bytes of it, with a note of how many
// there are.
std::string safe_value(std::string_view bytes, std::size_t most = 4096);

// How many bytes at the end of `bytes` are the beginning of a character that is not whole yet: 0 to
// 3. For text that comes in pieces.
std::size_t incomplete_tail(std::string_view bytes);

// How many bytes at the beginning are UTF-8: all of them if the text is.
std::size_t utf8_prefix(std::string_view bytes);

}  // namespace onceward
