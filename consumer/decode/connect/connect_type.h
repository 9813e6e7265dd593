#pragma once
// The names that Kafka Connect and Debezium give to the types of values that JSON and Avro have no
// type for. Pure; thread-safe.

#include <cstdint>
#include <string_view>

namespace onceward {

// What a value means, and so what it becomes.
enum class ConnectType : std::uint8_t {
    plain,             // as it is, also what has a name that changes nothing (a UUID, XML, an enum)
    decimal,           // an unscaled number in base64, whose scale is a parameter of the type
    variable_decimal,  // {"scale": n, "value": base64}
    date,              // days since 1970-01-01
    time_millis,       // since midnight
    time_micros,
    time_nanos,
    local_millis,  // since 1970-01-01 on a clock without a zone
    local_micros,
    local_nanos,
    moment_millis,  // since 1970-01-01 UTC
    json,           // a text that holds JSON
};

// By the type's full name; `plain` for '' and for each name that changes nothing.
ConnectType connect_type(std::string_view name);

// How many of the type's units a second has. REQUIRES: a time, or a date and time.
std::int64_t units_a_second(ConnectType type);

}  // namespace onceward
