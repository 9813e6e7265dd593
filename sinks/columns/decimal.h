#pragma once
// Numbers as text, without loss: what a double would round, numeric keeps. Pure, thread-safe,
// throws only bad_alloc.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sinks/columns/lossy.h"

namespace onceward {

// value = (-1)^negative * digits * 10^exponent
struct Decimal {
    bool negative = false;
    std::string digits;  // without leading zeros; empty is zero
    int exponent = 0;
};

// Parses `12`, `-1.50`, `1e3`, `.5`; returns nullopt if the text is not a number or its exponent is
// absurd.
std::optional<Decimal> parse_decimal(std::string_view text);

// The value as an integer; nullopt if it has a fraction or is out of range.
std::optional<std::int64_t> whole_number(const Decimal& decimal);

// Returns true if the number has no more digits after the point than `scale`, or was made so; if
// that is below 0, the last digits before the point have to be zeros. Returns false if digits would
// be lost and `lossy` refuses that. Rounds half away from zero, as numeric does.
[[nodiscard]] bool fit_scale(Decimal& decimal, int scale, Lossy lossy);

// How many digits the number has before the point; below 0: as many zeros follow it.
int digits_before_point(const Decimal& decimal);

// Appends PostgreSQL's binary numeric (groups of four decimal digits), which shows at least so many
// digits after the point. Returns false and appends nothing if numeric cannot hold the number.
[[nodiscard]] bool append_numeric(const Decimal& decimal, std::string& out, int shown_digits = 0);

// Not a number, and the two infinities (PostgreSQL 14).
enum class SpecialNumber : std::uint16_t {
    nan = 0xC000,
    infinity = 0xD000,
    minus_infinity = 0xF000
};
void append_numeric(SpecialNumber special, std::string& out);

}  // namespace onceward
