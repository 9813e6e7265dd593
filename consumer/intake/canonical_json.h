#pragma once
// JSON in its canonical form (RFC 8785): no white space, members sorted by the UTF-16 code units of
// their names, numbers as ECMAScript writes the double that they are, strings with the fewest
// escapes. Two texts that mean the same have the same form. Pure; thread-safe; throws only
// std::bad_alloc.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/message/message.h"

namespace onceward {

// Appends the canonical form of a whole JSON text. Returns what is wrong, without any of the text
// itself; `out` is then useless. A repeated name, a lone surrogate and a number beyond every double
// are wrong: they have no canonical form.
std::optional<std::string> append_canonical(std::string_view json, std::string& out);

// The parts. `text`: UTF-8, escapes resolved. `number`: as JSON writes it; false if it is larger
// than every double; a number that is too small for one becomes 0. `real`: finite.
void append_canonical_string(std::string_view text, std::string& out);
bool append_canonical_number(std::string_view number, std::string& out);
void append_canonical_real(double real, std::string& out);

// Whether the UTF-16 code units of one UTF-8 text come before another's.
bool utf16_less(std::string_view left, std::string_view right);

// The fingerprint of chosen fields: SHA-256 of an object that has them under their paths, in
// canonical form (RFC 8785). Pure; a plain value, used by any thread; throws only std::bad_alloc.
class FieldsFingerprint {
  public:
    // A field's path and which of the values it is. No fields: no fingerprint.
    struct Field {
        std::string path;
        std::size_t value = 0;
    };
    explicit FieldsFingerprint(std::vector<Field> fields = {});
    bool empty() const { return fields_.empty(); }

    // Sets the message's fingerprint, or its rejection if a field has no canonical form.
    void take(Message& message, std::span<const Value> values) const;
    // The text that is digested, for tests: the object without absent members. A minus precedes it
    // if the message removes its row, since a removal does not repeat the write.
    std::optional<std::string> text(Operation operation, std::span<const Value> values,
                                    std::string& out) const;

  private:
    std::vector<Field> fields_;  // in the form's order
};

}  // namespace onceward
