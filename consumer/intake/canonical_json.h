#pragma once
// JSON in its canonical form (RFC 8785): no white space, members sorted by the UTF-16 code units of
// their names, numbers as ECMAScript writes the double that they are, strings with the fewest
// escapes. Two texts that mean the same have the same form. Pure; thread-safe; throws only
// std::bad_alloc.

#include <optional>
#include <string>
#include <string_view>

namespace onceward {

// Appends the canonical form of a whole JSON text. Returns what is wrong, without any of the text
// itself; `out` is then useless. A repeated name, a lone surrogate and a number beyond every double
// are wrong: they have no canonical form.
std::optional<std::string> append_canonical(std::string_view json, std::string& out);

// The parts. `text`: UTF-8, escapes resolved. `number`: as JSON writes it; false where it is larger
// than every double, while what is too small for one is 0. `real`: finite.
void append_canonical_string(std::string_view text, std::string& out);
bool append_canonical_number(std::string_view number, std::string& out);
void append_canonical_real(double real, std::string& out);

// Whether the UTF-16 code units of one UTF-8 text come before another's.
bool utf16_less(std::string_view left, std::string_view right);

}  // namespace onceward
