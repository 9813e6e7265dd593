#pragma once
// Values as Protobuf's fields have them, whichever way they are read. Pure.

#include <cstdint>
#include <optional>
#include <string_view>

#include "dedup/message/value.h"

namespace onceward::protobuf {

inline Value of_kind(Value::Kind kind, std::string_view text = {}) { return {kind, {}, text}; }

inline Value integer(std::int64_t integer) {
    return {.kind = Value::Kind::integer, .integer = integer};
}

inline Value natural(std::uint64_t natural) {
    return {.kind = Value::Kind::natural, .natural = natural};
}

inline Value real(double real) { return {.kind = Value::Kind::real, .real = real}; }

inline Value boolean(bool boolean) { return {.kind = Value::Kind::boolean, .boolean = boolean}; }

// Converts a google.protobuf.Timestamp; returns nullopt if it is outside timestamp.proto's range.
inline std::optional<Value> timestamp(std::int64_t seconds, std::int64_t nanos) {
    constexpr std::int64_t first = -62'135'596'800;  // 0001-01-01
    constexpr std::int64_t last = 253'402'300'799;   // 9999-12-31
    if (seconds < first || seconds > last || nanos < 0 || nanos > 999'999'999) return std::nullopt;
    return Value{.kind = Value::Kind::timestamp, .integer = seconds * 1'000'000 + nanos / 1'000};
}

}  // namespace onceward::protobuf
