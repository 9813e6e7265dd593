#pragma once
// Dates and times from ISO 8601 text (the profile of RFC 3339, the time zone optional). Pure,
// thread-safe. Fractions finer than a microsecond are rounded, as PostgreSQL rounds them.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace onceward {

struct IsoMoment {
    std::chrono::microseconds local{};  // since 1970-01-01 on the clock that the text shows
    std::optional<std::chrono::minutes> offset;  // from UTC; nullopt if the text has none
};

std::optional<IsoMoment> parse_iso_moment(std::string_view text);  // 2024-05-06T07:08:09.5Z
std::optional<std::chrono::days> parse_iso_date(
    std::string_view text);  // 2024-05-06, since 1970-01-01
std::optional<std::chrono::microseconds> parse_iso_time(
    std::string_view text);  // 07:08, 07:08:09.5

// 2024-05-06T07:08:09.500000Z
std::string iso_text(std::chrono::microseconds since_1970);

}  // namespace onceward
