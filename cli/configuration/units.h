#pragma once
// Texts with units and addresses, as a configuration writes them, and the other way round. Pure.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "dedup/ledger/ledger_options.h"

namespace onceward {

// A whole number and `ms`, `s`, `m`, `h` or `d`. nullopt for anything else, also for a number that
// does not fit.
std::optional<std::chrono::milliseconds> parse_duration(const std::string& text);
// A whole number and `B`, `KB`, `MB`, `GB` (powers of 1000) or `KiB`, `MiB`, `GiB` (powers of
// 1024).
std::optional<std::int64_t> parse_size(const std::string& text);
// `HH:MM-HH:MM`, from 00:00 to 24:00; nullopt also if both are the same.
std::optional<DailyHours> parse_hours(const std::string& text);
// RFC 3339 with a zone, such as `2026-01-31T12:00:00Z` or `...+02:00`: milliseconds since 1970 UTC.
std::optional<std::chrono::milliseconds> parse_timestamp(const std::string& text);

// The largest unit that divides it: `24h`, `1500ms`, `8MiB`.
std::string duration_text(std::chrono::milliseconds duration);
std::string size_text(std::int64_t bytes);
std::string hours_text(const DailyHours& hours);

// What to write instead of a text that has no unit or one that is not known.
std::string duration_advice(const std::string& text);
std::string size_advice(const std::string& text);

// Where the process listens for its operator.
struct ListenAddress {
    std::string host;
    std::uint16_t port = 0;  // 0: the system chooses one
};

// `host:port`, `[::1]:port`; nullopt for anything else.
std::optional<ListenAddress> parse_listen_address(const std::string& text);
// The other way round.
std::string to_text(const ListenAddress& address);
// Whether only this machine reaches it.
bool is_loopback(const ListenAddress& address);

}  // namespace onceward
