#include "sinks/columns/value_text.h"

#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstdint>

#include "dedup/base/text.h"
#include "dedup/message/digest.h"
#include "dedup/postgres/binary.h"
#include "sinks/columns/decimal.h"

namespace onceward {
namespace {

template <class Number>
Number take(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
        value = value << 8 | static_cast<unsigned char>(bytes[i]);
    }
    bytes.remove_prefix(sizeof(Number));
    return static_cast<Number>(value);
}

std::string padded(std::int64_t number, std::size_t width) {
    std::string digits = std::to_string(number);
    if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
    return digits;
}

// The fewest digits that read back as the same number; plain between 1e-4 and the type's precision.
template <class Real>
std::string real_text(Real value, int plain_below) {
    if (value != value) return "NaN";
    if (value - value != 0) return value > 0 ? "Infinity" : "-Infinity";
    std::array<char, 512> room{};
    const auto write = [&](std::chars_format format) {
        const auto end = std::to_chars(room.data(), room.data() + room.size(), value, format).ptr;
        return std::string(room.data(), end);
    };
    const std::string scientific = write(std::chars_format::scientific);
    const auto exponent = number_of<int>(std::string_view(scientific)
                                             .substr(scientific.find('e') + 1)
                                             .substr(scientific.find("e+") == std::string::npos
                                                         ? 0
                                                         : 1));
    const bool plain = exponent && *exponent >= -4 && *exponent < plain_below;
    return plain ? write(std::chars_format::fixed) : scientific;
}

std::string numeric_text(std::string_view bytes) {
    const int groups = take<std::int16_t>(bytes);
    const int weight = take<std::int16_t>(bytes);
    const auto sign = take<std::uint16_t>(bytes);
    const int scale = take<std::uint16_t>(bytes);
    switch (static_cast<SpecialNumber>(sign)) {
        case SpecialNumber::nan: return "NaN";
        case SpecialNumber::infinity: return "Infinity";
        case SpecialNumber::minus_infinity: return "-Infinity";
    }
    std::vector<int> digits;
    for (int i = 0; i < groups; ++i) digits.push_back(take<std::int16_t>(bytes));
    const auto group = [&](int at) {
        return at >= 0 && at < groups ? digits[static_cast<std::size_t>(at)] : 0;
    };
    std::string text = sign == 0x4000 ? "-" : "";
    if (weight < 0) text += '0';
    for (int at = 0; at <= weight; ++at) {
        text += at == 0 ? std::to_string(group(at)) : padded(group(at), 4);
    }
    if (scale == 0) return text;
    std::string fraction;
    for (int at = weight + 1; static_cast<int>(fraction.size()) < scale; ++at) {
        fraction += padded(group(at), 4);
    }
    return text + "." + fraction.substr(0, static_cast<std::size_t>(scale));
}

// PostgreSQL counts from 2000-01-01.
constexpr std::chrono::sys_days epoch{std::chrono::year{2000} / 1 / 1};

std::string date_text(std::chrono::sys_days day, bool& before_christ) {
    const std::chrono::year_month_day date{day};
    int year = static_cast<int>(date.year());
    before_christ = year <= 0;
    if (before_christ) year = 1 - year;
    return padded(year, 4) + "-" + padded(static_cast<unsigned>(date.month()), 2) + "-" +
           padded(static_cast<unsigned>(date.day()), 2);
}

std::string time_text(std::chrono::microseconds of_day) {
    const std::int64_t all = of_day.count();
    const std::int64_t seconds = all / 1'000'000;
    std::string text = padded(seconds / 3600, 2) + ":" + padded(seconds / 60 % 60, 2) + ":" +
                       padded(seconds % 60, 2);
    std::string fraction = "." + padded(all % 1'000'000, 6);
    while (fraction.ends_with('0')) fraction.pop_back();
    return fraction == "." ? text : text + fraction;
}

std::string moment_text(std::chrono::microseconds since_epoch, const char* zone) {
    const auto moment = epoch + since_epoch;
    const auto day = std::chrono::floor<std::chrono::days>(moment);
    bool before_christ = false;
    const std::string date = date_text(day, before_christ);
    return date + " " + time_text(moment - day) + zone + (before_christ ? " BC" : "");
}

std::string member_text(const std::string& text) {
    const bool plain = !text.empty() && lower_case(text) != "null" &&
                       text.find_first_of("{}\",\\ \t\n\r\v\f") == std::string::npos;
    if (plain) return text;
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += c;
    }
    return quoted + "\"";
}

std::string array_text(std::string_view bytes, const ColumnType& element) {
    const auto dimensions = take<std::uint32_t>(bytes);
    if (dimensions == 0) return "{}";
    bytes.remove_prefix(8);  // whether there are nulls, and the element's type
    const auto count = take<std::uint32_t>(bytes);
    bytes.remove_prefix(4);  // the first index
    std::string text = "{";
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto length = take<std::uint32_t>(bytes);
        if (i > 0) text += ',';
        if (length == binary::null_length) {
            text += "NULL";
            continue;
        }
        text += member_text(value_text(bytes.substr(0, length), element));
        bytes.remove_prefix(length);
    }
    return text + "}";
}

}  // namespace

std::string value_text(std::string_view bytes, const ColumnType& type) {
    using std::chrono::microseconds;
    switch (type.kind) {
        case TypeKind::boolean: return bytes[0] != 0 ? "true" : "false";
        case TypeKind::int2: return std::to_string(take<std::int16_t>(bytes));
        case TypeKind::int4: return std::to_string(take<std::int32_t>(bytes));
        case TypeKind::int8: return std::to_string(take<std::int64_t>(bytes));
        case TypeKind::float4:
            return real_text(std::bit_cast<float>(take<std::uint32_t>(bytes)), 6);
        case TypeKind::float8:
            return real_text(std::bit_cast<double>(take<std::uint64_t>(bytes)), 15);
        case TypeKind::numeric: return numeric_text(bytes);
        case TypeKind::enumeration:
        case TypeKind::json:
        case TypeKind::text: return std::string(bytes);
        case TypeKind::jsonb: return std::string(bytes.substr(1));  // without its version
        case TypeKind::bytea: return "\\x" + hex(bytes);
        case TypeKind::uuid: {
            Digest digest;
            for (std::size_t i = 0; i < digest.bytes.size(); ++i) {
                digest.bytes[i] = static_cast<std::uint8_t>(bytes[i]);
            }
            return uuid_text(digest);
        }
        case TypeKind::date: {
            bool before_christ = false;
            const std::string date = date_text(
                epoch + std::chrono::days{take<std::int32_t>(bytes)}, before_christ);
            return date + (before_christ ? " BC" : "");
        }
        case TypeKind::time: return time_text(microseconds{take<std::int64_t>(bytes)});
        case TypeKind::timestamp: return moment_text(microseconds{take<std::int64_t>(bytes)}, "");
        case TypeKind::timestamptz:
            return moment_text(microseconds{take<std::int64_t>(bytes)}, "+00");
        case TypeKind::array: return array_text(bytes, *type.element);
    }
    return "";
}

}  // namespace onceward
