#pragma once
// A moment as an operator writes it, the same for every option that takes one: as Onceward prints
// times (2026-01-31 12:00:00.5+00), RFC 3339 (2026-01-31T12:00:00Z), the date alone, which is its
// midnight in UTC, or how long ago (90s, 15m, 1h, 7d). Pure, except for the clock of moment_of().

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>
#include <string>

namespace onceward {

constexpr const char* moment_forms =
    "2026-01-31T12:00:00Z, a date, a time as Onceward prints it, or how long ago, such as 1h";

// Since 1970 in UTC; nullopt if it is no moment, or one whose zone is missing.
std::optional<std::chrono::milliseconds> parse_moment(const std::string& text,
                                                      std::chrono::milliseconds now);

// The same by this machine's clock, of an option that moment_check() has passed; nullopt if it was
// not given.
std::optional<std::chrono::milliseconds> moment_of(const std::string& text);

// What an option takes, and what it got instead: `takes WHAT, not TEXT`. If only the zone is
// missing, it also says how the zone is written.
std::string not_taken(const std::string& what, const std::string& text);

// For CLI11's check().
CLI::Validator moment_check();

}  // namespace onceward
