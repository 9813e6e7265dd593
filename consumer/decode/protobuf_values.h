#pragma once
// Values as Protobuf's fields have them, whichever way they are read. Pure.

#include <cstdint>
#include <optional>
#include <string_view>

#include "dedup/message/value.h"

namespace onceward::protobuf {

inline Value of_kind(Value::Kind kind, std::string_view text = {}) {
    Value value;
    value.kind = kind;
    value.text = text;
    return value;
}

inline Value integer(std::int64_t integer) {
    Value value = of_kind(Value::Kind::integer);
    value.integer = integer;
    return value;
}

inline Value natural(std::uint64_t natural) {
    Value value = of_kind(Value::Kind::natural);
    value.natural = natural;
    return value;
}

inline Value real(double real) {
    Value value = of_kind(Value::Kind::real);
    value.real = real;
    return value;
}

inline Value boolean(bool boolean) {
    Value value = of_kind(Value::Kind::boolean);
    value.boolean = boolean;
    return value;
}

// Converts a google.protobuf.Timestamp; returns nullopt if it is outside timestamp.proto's range.
inline std::optional<Value> timestamp(std::int64_t seconds, std::int64_t nanos) {
    constexpr std::int64_t first = -62'135'596'800;  // 0001-01-01
    constexpr std::int64_t last = 253'402'300'799;   // 9999-12-31
    if (seconds < first || seconds > last || nanos < 0 || nanos > 999'999'999) return std::nullopt;
    Value value = of_kind(Value::Kind::timestamp);
    value.integer = seconds * 1'000'000 + nanos / 1'000;
    return value;
}

}  // namespace onceward::protobuf
