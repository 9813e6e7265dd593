#pragma once
// Dates and times from ISO 8601 text (the profile of RFC 3339, the time zone optional). Pure,
// thread-safe. Digits finer than a microsecond are reported, so that the caller decides.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace onceward {

// What a text has beyond its microseconds.
struct FinerThanMicros {
    bool any = false;
    bool half_up = false;        // whether rounding half up adds a microsecond
    bool as_postgresql = false;  // whether PostgreSQL's rounding of a double does
};

struct IsoMoment {
    std::chrono::microseconds local{};  // since 1970-01-01 on the clock that the text shows
    std::optional<std::chrono::minutes> offset;  // from UTC; nullopt if the text has none
    FinerThanMicros finer{};
    // `local`, rounded half up.
    std::chrono::microseconds rounded() const {
        return local + std::chrono::microseconds{finer.half_up ? 1 : 0};
    }
};

struct IsoTimeOfDay {
    std::chrono::microseconds time{};
    FinerThanMicros finer{};
};

std::optional<IsoMoment> parse_iso_moment(std::string_view text);  // 2024-05-06T07:08:09.5Z
std::optional<std::chrono::days> parse_iso_date(
    std::string_view text);  // 2024-05-06, since 1970-01-01
std::optional<IsoTimeOfDay> parse_iso_time(
    std::string_view text);  // 07:08, 07:08:09.5, and 24:00, the end of a day

// 2024-05-06T07:08:09.500000Z
std::string iso_text(std::chrono::microseconds since_1970);

}  // namespace onceward
