#pragma once
// Numbers for people. Pure.

#include <cstdint>
#include <string>

namespace onceward::bench {

// With so many digits after the point and commas between thousands; `-` if it is not a number.
std::string fixed(double value, int digits);
std::string grouped(std::int64_t value);
// `1.23 ms`.
std::string milliseconds_text(double seconds);
// Three significant digits, because ratios of 0.7 and of 70 share a column.
std::string three_digits(double value);

}  // namespace onceward::bench
