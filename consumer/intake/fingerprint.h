#pragma once
// The fingerprint of chosen fields: SHA-256 of an object that has them under their paths, in
// canonical form (RFC 8785). Pure; a plain value, used by any thread; throws only std::bad_alloc.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dedup/message/message.h"

namespace onceward {

class FieldsFingerprint {
  public:
    // A field's path and which of the values it is. No fields: no fingerprint.
    struct Field {
        std::string path;
        std::size_t value = 0;
    };
    explicit FieldsFingerprint(std::vector<Field> fields = {});
    bool empty() const { return fields_.empty(); }

    // Sets the message's fingerprint, or its rejection where a field has no canonical form.
    void take(Message& message, std::span<const Value> values) const;
    // The text that is digested, for tests: the object without absent members. A minus precedes it
    // if the message removes its row, since a removal does not repeat the write.
    std::optional<std::string> text(Operation operation, std::span<const Value> values,
                                    std::string& out) const;

  private:
    std::vector<Field> fields_;  // in the form's order
};

}  // namespace onceward
