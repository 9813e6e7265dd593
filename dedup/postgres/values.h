#pragma once
// The values that a statement gets, and the rows that it returns. Not thread-safe.

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/message/digest.h"

struct pg_result;

namespace onceward {

// Returns nullopt if the text is empty.
inline std::optional<std::string> unless_empty(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
}

// What follows VALUES in a statement of that many rows, such as `($1::uuid, $2), ($3::uuid, $4)`.
// `types` has one entry for each column; for an empty one PostgreSQL finds the parameter's type.
std::string rows_of_parameters(std::size_t rows, std::span<const std::string_view> types);

// The values of a statement's $1, $2, ... Scalars go as text, arrays of digests and integers as
// binary. Owns copies of what it is given; throws only std::bad_alloc.
class Parameters {
  public:
    Parameters() = default;
    // These values in their order, each by its type as below: numbers, texts, digests and booleans,
    // Partition and Offset as numbers, vectors as arrays, and an empty optional as null. Bytes have
    // no type of their own: bytes() and byte_strings() add them.
    template <class... Values>
    Parameters(const Values&... values) {
        (put(values), ...);
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
    template <class Value>
    void put(const Value& value) {
        if constexpr (std::same_as<Value, bool>) {
            boolean(value);
        } else if constexpr (std::integral<Value>) {
            integer(static_cast<std::int64_t>(value));
        } else if constexpr (requires { integer(value.raw()); }) {
            integer(value.raw());
        } else if constexpr (std::same_as<Value, Digest>) {
            digest(value);
        } else if constexpr (requires { text(value); }) {
            text(value);
        } else if constexpr (requires { digests(value); }) {
            digests(value);
        } else if constexpr (requires { optional_digests(value); }) {
            optional_digests(value);
        } else if constexpr (requires { integers(value); }) {
            integers(value);
        } else if constexpr (requires { small_integers(value); }) {
            small_integers(value);
        } else if constexpr (requires { texts(value); }) {
            texts(value);
        } else if constexpr (std::same_as<Value, std::nullopt_t>) {
            null();
        } else if (value) {
            put(*value);
        } else {
            null();
        }
    }
    struct Slot {
        std::uint32_t type = 0;
        std::optional<std::string> value;
        int format = 0;
    };
    Parameters& add(std::uint32_t type, std::optional<std::string> value, int format);
    std::vector<Slot> slots_;
};

// For a statement without any. It lives as long as the process, so that a reference to it holds.
inline const Parameters no_parameters;

// The rows that a statement returned. Move-only, owns its PGresult, not thread-safe; views live as
// long as it does. Reading outside its rows or columns is a bug and aborts.
class QueryResult {
  public:
    explicit QueryResult(pg_result* result);
    int rows() const;
    int columns() const;
    // Rows that INSERT, UPDATE, DELETE, SELECT or COPY touched, by the command's tag.
    std::int64_t affected() const;
    // The command's tag, such as `COMMIT`. A COMMIT of a failed transaction says ROLLBACK, without
    // an error.
    std::string_view tag() const;
    bool is_null(int row, int column) const;
    bool is_number(int column) const;  // int4 or int8
    // The text form, or the raw bytes of a binary result.
    std::string_view text(int row, int column) const;
    std::optional<std::string_view> optional_text(int row, int column) const;
    // The first character of the text form, such as that of a "char"; '\0' if it is empty or NULL.
    char letter(int row, int column) const;
    std::int64_t integer(int row, int column) const;  // text results only
    bool boolean(int row, int column) const;          // text results only
    // int2, int4 or int8 of a binary result
    std::int64_t binary_integer(int row, int column) const;
    Digest binary_digest(int row, int column) const;  // uuid of a binary result

  private:
    struct Clear {
        void operator()(pg_result* result) const;
    };
    std::unique_ptr<pg_result, Clear> result_;
};

}  // namespace onceward
