#pragma once
// Avro's logical types as text: exact, and in the forms that a JSON producer would send. Pure.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace onceward::avro {

// An unscaled integer (two's complement, big-endian) with `scale` decimal places: each digit and
// each zero of the scale, as JSON writes a number. False if the bytes or the decimal places are
// more than `longest_decimal`.
constexpr std::size_t longest_decimal = 4096;
[[nodiscard]] bool append_decimal(std::string_view bytes, std::size_t scale, std::string& out);

// 2024-05-31. False outside the years 1 to 9999.
[[nodiscard]] bool append_date(std::int64_t days, std::string& out);
// 07:08:09.500000. False for what is not within a day.
[[nodiscard]] bool append_time(std::int64_t micros, std::string& out);
// A count of units since 1970 as microseconds and, below them, nanoseconds (0 to 999). nullopt if
// the microseconds overflow. REQUIRES: 1,000, 1,000,000 or 1,000,000,000 units a second.
struct FineMoment {
    std::int64_t micros = 0;
    std::int64_t nanos = 0;
};
std::optional<FineMoment> fine_moment(std::int64_t count, std::int64_t units_a_second);
// 2024-05-31T07:08:09.500000, with nine digits if the nanoseconds need them, and nothing or Z after
// it. False outside the years 1 to 9999.
[[nodiscard]] bool append_moment(std::int64_t micros, std::int64_t nanos, std::string_view zone,
                                 std::string& out);
// Months, days and milliseconds, each a 32-bit number (little-endian), in ISO 8601: P1M2DT3.004S.
// REQUIRES: 12 bytes.
void append_duration(std::string_view bytes, std::string& out);

}  // namespace onceward::avro
