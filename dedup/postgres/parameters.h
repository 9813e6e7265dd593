#pragma once
// The values of a statement's $1, $2, ... Scalars go as text, arrays of digests and integers as
// binary. Owns copies of what it is given; not thread-safe; throws only std::bad_alloc.

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/message/digest.h"

namespace onceward {

// Returns nullopt if the text is empty.
inline std::optional<std::string> unless_empty(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
}

class Parameters {
  public:
    // These values in their order, each by its type; an optional one is null if it is empty.
    template <class... Values>
    static Parameters of(const Values&... values) {
        Parameters parameters;
        (parameters.add(values), ...);
        return parameters;
    }
    Parameters& text(std::string_view value);
    Parameters& optional_text(const std::optional<std::string>& value);
    Parameters& integer(std::int64_t value);
    Parameters& optional_integer(const std::optional<std::int64_t>& value);
    Parameters& boolean(bool value);
    Parameters& bytes(std::string_view value);  // bytea
    Parameters& optional_bytes(const std::optional<std::string>& value);
    Parameters& null();
    Parameters& digest(const Digest& value);              // uuid
    Parameters& digests(std::span<const Digest> values);  // uuid[]
    // uuid[] with nulls
    Parameters& optional_digests(std::span<const std::optional<Digest>> values);
    Parameters& integers(std::span<const std::int64_t> values);                         // int8[]
    Parameters& small_integers(std::span<const std::int32_t> values);                   // int4[]
    Parameters& texts(std::span<const std::optional<std::string_view>> values);         // text[]
    Parameters& byte_strings(std::span<const std::optional<std::string_view>> values);  // bytea[]
    // A value of any type, already in its binary form.
    Parameters& binary(std::uint32_t type, const std::optional<std::string_view>& value);
    // An array of any element type, already in its binary form: `elements[i]` is the i-th one's
    // bytes.
    Parameters& binary_array(std::uint32_t array_type, std::uint32_t element_type,
                             std::span<const std::optional<std::string_view>> elements);

    int size() const { return static_cast<int>(slots_.size()); }
    // Parallel arrays in the shape that libpq takes; valid until this object changes.
    struct View {
        std::vector<std::uint32_t> types;
        std::vector<const char*> values;
        std::vector<int> lengths;
        std::vector<int> formats;
    };
    View view() const;

  private:
    struct Slot {
        std::uint32_t type = 0;
        std::optional<std::string> value;
        int format = 0;
    };
    void add(std::string_view value) { text(value); }
    void add(const std::string& value) { text(value); }
    void add(const char* value) { text(value); }
    void add(const std::optional<std::string>& value) { optional_text(value); }
    void add(bool value) { boolean(value); }
    void add(std::integral auto value) { integer(value); }
    void add(const std::optional<std::int64_t>& value) { optional_integer(value); }
    void add(const Digest& value) { digest(value); }
    void add(const std::vector<Digest>& values) { digests(values); }
    void add(const std::vector<std::int64_t>& values) { integers(values); }
    void add(const std::vector<std::int32_t>& values) { small_integers(values); }
    void add(const std::vector<std::optional<std::string_view>>& values) { texts(values); }
    Parameters& add(std::uint32_t type, std::optional<std::string> value, int format);
    std::vector<Slot> slots_;
};

}  // namespace onceward
