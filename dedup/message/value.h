#pragma once
// One field of a message, as the decoder found it and before a sink gives it a column's type.
// A plain value whose views point into the message's record or its chunk's arena; it lives as long
// as that chunk.

#include <cstdint>
#include <string>
#include <string_view>

namespace onceward {

struct Value {
    enum class Kind : std::uint8_t {
        absent,   // the path is not in the message
        null,     // it exists and is null
        boolean,  // `boolean`
        integer,  // `integer`: a Protobuf integer, an offset, a partition
        natural,  // `natural`: a Protobuf uint64, which may not fit an integer
        real,     // `real`: a Protobuf float or double
        // `text`: a JSON number exactly as it was written, so that nothing beyond 2^53 is lost
        number,
        text,       // `text`: UTF-8, escapes resolved
        bytes,      // `text`: any bytes
        // `text`: an object or array, raw JSON. Decoders and conversions have checked all of it,
        // and a number in it may be of any size.
        json,
        timestamp,  // `integer`: microseconds since 1970 UTC; `text`: the whole time if it is finer
    };
    Kind kind = Kind::absent;
    union {
        bool boolean;
        std::int64_t integer = 0;
        std::uint64_t natural;
        double real;
    };
    std::string_view text{};
};

// Whether there is nothing to write: the path is not in the message, or is null.
inline bool is_missing(const Value& value) {
    return value.kind == Value::Kind::absent || value.kind == Value::Kind::null;
}

inline Value integer_value(std::int64_t number) {
    return {.kind = Value::Kind::integer, .integer = number};
}

// Where a value comes from. What the text means depends on the source:
//   field      JSON: an RFC 6901 pointer (`/order/id`, '' is the whole payload);
//              Protobuf: a dotted path (`order.id`)
//   header     the header's name; the last one if it is repeated
//   record_key the record's key, whole; payload: the raw payload's bytes
//   metadata   topic | partition | offset | timestamp
//   constant   the text itself
//   key        of the idempotency key: text | digest | downstream (downstream_key())
struct FieldSource {
    enum class Kind : std::uint8_t { field, header, record_key, payload, metadata, constant, key };
    Kind kind = Kind::field;
    std::string text;
    friend bool operator==(const FieldSource&, const FieldSource&) = default;
};

}  // namespace onceward
