#include <algorithm>
#include <cmath>
#include <vector>

#include "sinks/columns/convert.h"

namespace onceward::steps {
namespace {

// Enough for more digits than any numeric(p,s) has (1000), and still converted in microseconds.
constexpr std::size_t most_bytes = 1024;
// At most this many zeros are written out; with more of them the number has an exponent.
constexpr int most_zeros = 40;

// The number as JSON and PostgreSQL write it, with each of its digits.
void write_number(const Decimal& number, std::string& out) {
    out.clear();
    if (number.negative) out += '-';
    const int size = static_cast<int>(number.digits.size());
    if (number.exponent > most_zeros || number.exponent < -size - most_zeros) {
        out += (size == 0 ? "0" : number.digits) + "e" + std::to_string(number.exponent);
        return;
    }
    if (number.exponent >= 0) {
        out += size == 0 ? "0" : number.digits + std::string(number.exponent, '0');
        return;
    }
    const int before = std::max(size + number.exponent, 0);
    const int zeros = std::max(-number.exponent - size, 0);
    out += before == 0 ? "0" : number.digits.substr(0, before);
    out += "." + std::string(zeros, '0') + number.digits.substr(before);
}

// The absolute value's bits, as words of 32 with the least significant one first.
std::vector<std::uint32_t> magnitude_of(std::string_view bytes, bool negative) {
    std::vector<std::uint32_t> words((bytes.size() + 3) / 4);
    std::uint32_t carry = negative ? 1 : 0;  // two's complement: inverted, plus 1
    for (std::size_t at = 0; at < words.size() * 4; ++at) {
        std::uint32_t byte = negative ? 0xff : 0;
        if (at < bytes.size()) byte = static_cast<unsigned char>(bytes[bytes.size() - 1 - at]);
        if (negative) byte = (byte ^ 0xff) + carry;
        carry = byte >> 8;
        words[at / 4] |= (byte & 0xff) << (8 * (at % 4));
    }
    return words;
}

// Takes the decimal digits out of the words.
std::string digits_of(std::vector<std::uint32_t> words) {
    constexpr std::uint64_t group = 1'000'000'000;
    std::string reversed;
    while (!words.empty()) {
        std::uint64_t rest = 0;
        for (std::size_t at = words.size(); at-- > 0;) {
            const std::uint64_t number = rest << 32 | words[at];
            words[at] = static_cast<std::uint32_t>(number / group);
            rest = number % group;
        }
        while (!words.empty() && words.back() == 0) words.pop_back();
        for (int digit = 0; digit < 9; ++digit, rest /= 10) {
            reversed += static_cast<char>('0' + rest % 10);
        }
    }
    while (reversed.ends_with('0')) reversed.pop_back();
    return {reversed.rbegin(), reversed.rend()};
}

}  // namespace

std::optional<Decimal> decimal_of(const Value& value) {
    switch (value.kind) {
        case Value::Kind::number:
        case Value::Kind::text:
        case Value::Kind::bytes: return parse_decimal(value.text);
        case Value::Kind::real:
            if (!std::isfinite(value.real)) return std::nullopt;
            [[fallthrough]];
        case Value::Kind::integer:
        case Value::Kind::natural: return parse_decimal(encode::NumberText(value).view());
        case Value::Kind::absent:
        case Value::Kind::null:
        case Value::Kind::boolean:
        case Value::Kind::json:
        case Value::Kind::timestamp: break;
    }
    return std::nullopt;
}

Misfit decimal(Value& value, std::string& room) {
    const auto number = decimal_of(value);
    if (!number) return "is not a decimal number";
    write_number(*number, room);
    value = {Value::Kind::number, {}, room};
    return {};
}

Misfit unscaled_decimal(std::string_view bytes, int scale, Value& value, std::string& room) {
    if (bytes.empty()) return "has no bytes, so it is not a decimal number";
    if (bytes.size() > most_bytes) return "is a decimal number of more than 1024 bytes";
    Decimal number;
    number.negative = (static_cast<unsigned char>(bytes[0]) & 0x80) != 0;
    number.digits = digits_of(magnitude_of(bytes, number.negative));
    number.exponent = -scale;
    write_number(number, room);
    value = {Value::Kind::number, {}, room};
    return {};
}

}  // namespace onceward::steps
