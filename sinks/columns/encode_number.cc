#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "dedup/base/text.h"
#include "dedup/postgres/binary.h"
#include "sinks/columns/column_encoder.h"
#include "sinks/columns/decimal.h"

namespace onceward::encode {
namespace {

constexpr Misfit out_of_range = "is out of the type's range";
constexpr Misfit no_whole_number = "is not a whole number";
constexpr Misfit no_number = "is not a number";
constexpr Misfit beyond_scale =
    "has more digits after the point than the column keeps (`lossy: round` would round it)";
constexpr Misfit beyond_precision =
    "has more digits before the point than the column's precision allows";

struct Whole {
    std::int64_t value = 0;
    Misfit misfit{};
};

Whole parse_whole(std::string_view text, Lossy lossy) {
    if (const auto value = number_of<std::int64_t>(text)) return {*value};
    auto decimal = parse_decimal(text);
    if (!decimal) return {0, no_number};
    if (lossy != Lossy::refuse) static_cast<void>(fit_scale(*decimal, 0, lossy));
    const auto whole = whole_number(*decimal);  // 1e3 and 1.0 are whole as well
    if (whole) return {*whole};
    return {0, decimal->exponent < 0 ? no_whole_number : out_of_range};
}

// Whether the value came as a text, in any form.
bool is_written(const Value& value) {
    return value.kind == Value::Kind::number || value.kind == Value::Kind::text ||
           value.kind == Value::Kind::bytes;
}

Whole whole_of(const Value& value, Lossy lossy) {
    if (value.kind == Value::Kind::integer) return {value.integer};
    if (value.kind == Value::Kind::natural) {
        if (std::in_range<std::int64_t>(value.natural)) {
            return {static_cast<std::int64_t>(value.natural)};
        }
        return {0, out_of_range};
    }
    if (value.kind == Value::Kind::real && std::isfinite(value.real) &&
        std::trunc(value.real) == value.real) {
        // 2^63 is a double, the largest integer is not.
        if (value.real < -0x1p63 || value.real >= 0x1p63) return {0, out_of_range};
        return {static_cast<std::int64_t>(value.real)};
    }
    if (is_written(value)) return parse_whole(value.text, lossy);
    if (value.kind != Value::Kind::real || lossy == Lossy::refuse || !std::isfinite(value.real)) {
        return {0, no_whole_number};
    }
    return parse_whole(NumberText(value).view(), lossy);
}

template <class Real>
Misfit parse_real(std::string_view text, Real& result) {
    // from_chars() takes a minus and no plus.
    if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, result);
    if (stop != end || error == std::errc::invalid_argument) return no_number;
    return error == std::errc() ? Misfit{} : out_of_range;
}

template <class Real>
Misfit real_of(const Value& value, Real& result) {
    if (is_written(value)) return parse_real(value.text, result);
    if (value.kind == Value::Kind::integer) {
        result = static_cast<Real>(value.integer);
    } else if (value.kind == Value::Kind::natural) {
        result = static_cast<Real>(value.natural);
    } else if (value.kind == Value::Kind::real) {
        if (std::isfinite(value.real) && std::abs(value.real) > std::numeric_limits<Real>::max()) {
            return out_of_range;
        }
        result = static_cast<Real>(value.real);
    } else {
        return no_number;
    }
    return {};
}

Misfit append_special(SpecialNumber special, const ColumnType& type, std::string& out) {
    if (type.precision > 0 && special != SpecialNumber::nan) {
        return "is infinite, which a column with a precision cannot hold";
    }
    append_numeric(special, out);
    return {};
}

Misfit numeric_from_text(std::string_view text, const ColumnType& type, Lossy lossy,
                         std::string& out) {
    auto decimal = parse_decimal(text);
    if (!decimal) {
        // Only the words that PostgreSQL itself prints.
        if (text == "NaN") return append_special(SpecialNumber::nan, type, out);
        if (text == "Infinity") return append_special(SpecialNumber::infinity, type, out);
        if (text == "-Infinity") return append_special(SpecialNumber::minus_infinity, type, out);
        return no_number;
    }
    if (type.precision == 0) return append_numeric(*decimal, out) ? Misfit{} : out_of_range;
    // The server would silently round to the column's scale.
    if (!fit_scale(*decimal, type.scale, lossy)) return beyond_scale;
    const bool zero = decimal->digits.empty();
    if (!zero && digits_before_point(*decimal) > type.precision - type.scale) {
        return beyond_precision;
    }
    if (zero) decimal->exponent = 0;
    return append_numeric(*decimal, out, type.scale) ? Misfit{} : out_of_range;
}

}  // namespace

Misfit whole(const Value& value, TypeKind kind, Lossy lossy, std::string& out) {
    const Whole whole = whole_of(value, lossy);
    if (!whole.misfit.empty()) return whole.misfit;
    const std::int64_t number = whole.value;
    if (kind == TypeKind::int8) {
        binary::put64(out, static_cast<std::uint64_t>(number));
    } else if (kind == TypeKind::int4) {
        if (number != static_cast<std::int32_t>(number)) return out_of_range;
        binary::put32(out, static_cast<std::uint32_t>(number));
    } else {
        if (number != static_cast<std::int16_t>(number)) return out_of_range;
        binary::put16(out, static_cast<std::uint16_t>(number));
    }
    return {};
}

Misfit real(const Value& value, TypeKind kind, std::string& out) {
    if (kind == TypeKind::float8) {
        double number = 0;
        if (const Misfit misfit = real_of(value, number); !misfit.empty()) return misfit;
        binary::put64(out, std::bit_cast<std::uint64_t>(number));
        return {};
    }
    float number = 0;
    if (const Misfit misfit = real_of(value, number); !misfit.empty()) return misfit;
    binary::put32(out, std::bit_cast<std::uint32_t>(number));
    return {};
}

Misfit numeric(const Value& value, const ColumnType& type, Lossy lossy, std::string& out) {
    if (is_written(value)) return numeric_from_text(value.text, type, lossy, out);
    const bool real = value.kind == Value::Kind::real;
    if (real && std::isnan(value.real)) return append_special(SpecialNumber::nan, type, out);
    if (real && std::isinf(value.real)) {
        return append_special(
            value.real > 0 ? SpecialNumber::infinity : SpecialNumber::minus_infinity, type, out);
    }
    if (!real && value.kind != Value::Kind::integer && value.kind != Value::Kind::natural) {
        return no_number;
    }
    return numeric_from_text(NumberText(value).view(), type, lossy, out);
}

NumberText::NumberText(const Value& value) {
    const auto print = [this](auto number) {
        return std::to_chars(buffer_.data(), buffer_.data() + buffer_.size(), number).ptr;
    };
    const char* const end = value.kind == Value::Kind::integer ? print(value.integer)
                            : value.kind == Value::Kind::natural
                                ? print(value.natural)
                                // the shortest that reads back the same
                                : print(value.real);
    size_ = static_cast<std::size_t>(end - buffer_.data());
}

}  // namespace onceward::encode
