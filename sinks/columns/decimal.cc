#include "sinks/columns/decimal.h"

#include <algorithm>
#include <limits>

#include "dedup/base/text.h"
#include "dedup/postgres/binary.h"

namespace onceward {
namespace {

// numeric's own limits: 131,072 digits before the point, 16,383 after it.
constexpr int largest_weight = 32767;
constexpr int largest_scale = 16383;
// Far beyond both, and far from where the arithmetic below would overflow.
constexpr int largest_exponent = 1'000'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int floor_divide(int value, int by) { return value >= 0 ? value / by : -((-value + by - 1) / by); }

}  // namespace

std::optional<Decimal> parse_decimal(std::string_view text) {
    Decimal decimal;
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
        decimal.negative = text[0] == '-';
        text.remove_prefix(1);
    }
    std::size_t at = 0;
    bool any_digit = false;
    bool fraction = false;
    for (; at < text.size(); ++at) {
        if (text[at] == '.' && !fraction) {
            fraction = true;
        } else if (is_digit(text[at])) {
            any_digit = true;
            if (fraction) --decimal.exponent;
            if (text[at] != '0' || !decimal.digits.empty()) decimal.digits.push_back(text[at]);
        } else {
            break;
        }
    }
    if (!any_digit) return std::nullopt;
    if (at == text.size()) return decimal;
    if (text[at] != 'e' && text[at] != 'E') return std::nullopt;
    text.remove_prefix(at + 1);
    if (text.size() > 1 && text[0] == '+' && is_digit(text[1])) text.remove_prefix(1);
    const auto exponent = number_of<int>(text);
    if (!exponent || *exponent > largest_exponent || *exponent < -largest_exponent) {
        return std::nullopt;
    }
    decimal.exponent += *exponent;
    return decimal;
}

std::optional<std::int64_t> whole_number(const Decimal& decimal) {
    constexpr int most_digits = 19;
    if (decimal.digits.empty()) return 0;
    std::string_view digits = decimal.digits;
    int exponent = decimal.exponent;
    while (exponent < 0 && digits.back() == '0') {
        digits.remove_suffix(1);
        ++exponent;
    }
    if (exponent < 0 || static_cast<long>(digits.size()) + exponent > most_digits)
        return std::nullopt;
    // Counted downwards, since the smallest integer has no positive twin.
    std::int64_t value = 0;
    for (int at = 0; at < static_cast<int>(digits.size()) + exponent; ++at) {
        const int digit = at < static_cast<int>(digits.size()) ? digits[at] - '0' : 0;
        if (__builtin_mul_overflow(value, std::int64_t{10}, &value)) return std::nullopt;
        if (__builtin_sub_overflow(value, std::int64_t{digit}, &value)) return std::nullopt;
    }
    if (decimal.negative) return value;
    if (value == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
    return -value;
}

int digits_before_point(const Decimal& decimal) {
    return static_cast<int>(decimal.digits.size()) + decimal.exponent;
}

bool fit_scale(Decimal& decimal, int scale, Lossy lossy) {
    const int beyond = -decimal.exponent - scale;
    if (beyond <= 0) return true;
    std::string& digits = decimal.digits;
    const int size = static_cast<int>(digits.size());
    const auto kept = static_cast<std::size_t>(std::max(0, size - beyond));
    const bool exact = digits.find_first_not_of('0', kept) == std::string::npos;
    if (!exact && lossy == Lossy::refuse) return false;
    // Beyond all of its digits there are zeros.
    const bool up = lossy == Lossy::round && beyond <= size && digits[kept] >= '5';
    digits.resize(kept);
    decimal.exponent = -scale;
    if (!up) return true;
    for (std::size_t at = kept; at > 0; --at) {
        if (digits[at - 1] != '9') return ++digits[at - 1], true;
        digits[at - 1] = '0';
    }
    digits.insert(digits.begin(), '1');
    return true;
}

bool append_numeric(const Decimal& decimal, std::string& out, int shown_digits) {
    const int scale = std::max({0, -decimal.exponent, shown_digits});
    if (scale > largest_scale) return false;
    const std::string& digits = decimal.digits;
    if (digits.size() > 200'000) return false;
    // The first digit has the value 10^(point - 1); a group of weight w covers 10^(4w) to 10^(4w +
    // 3).
    const int point = static_cast<int>(digits.size()) + decimal.exponent;
    const int weight = digits.empty() ? 0 : floor_divide(point - 1, 4);
    if (weight > largest_weight) return false;
    const int zeros_before = weight * 4 + 4 - point;
    const int padded = zeros_before + static_cast<int>(digits.size());
    int groups = digits.empty() ? 0 : (padded + 3) / 4;
    const auto group = [&](int index) {
        int value = 0;
        for (int at = index * 4 - zeros_before; at < index * 4 - zeros_before + 4; ++at) {
            const bool inside = at >= 0 && at < static_cast<int>(digits.size());
            value = value * 10 + (inside ? digits[at] - '0' : 0);
        }
        return value;
    };
    while (groups > 0 && group(groups - 1) == 0) --groups;
    binary::put16(out, static_cast<std::uint16_t>(groups));
    binary::put16(out, static_cast<std::uint16_t>(groups == 0 ? 0 : weight));
    binary::put16(out, decimal.negative && groups > 0 ? 0x4000 : 0);
    binary::put16(out, static_cast<std::uint16_t>(scale));
    for (int index = 0; index < groups; ++index) {
        binary::put16(out, static_cast<std::uint16_t>(group(index)));
    }
    return true;
}

void append_numeric(SpecialNumber special, std::string& out) {
    binary::put16(out, 0);
    binary::put16(out, 0);
    binary::put16(out, static_cast<std::uint16_t>(special));
    binary::put16(out, 0);
}

}  // namespace onceward
