#pragma once
// What a column does to a value before its type takes it: named steps in their order, a value for
// what is missing, and what becomes of digits that the type cannot keep. A short list and not a
// language. Plain values; sinks/columns/convert.h applies them.

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/message/value.h"
#include "sinks/columns/lossy.h"

namespace onceward {

// A value that the configuration has.
struct ConstantValue {
    Value::Kind kind = Value::Kind::text;  // null, boolean, number or text
    std::string text;                      // as it is written, also of a number and a boolean

    // The returned value has a view of this object.
    Value value() const {
        Value made{kind, {}, text};
        if (kind == Value::Kind::boolean) made.boolean = text == "true";
        return made;
    }
    friend bool operator==(const ConstantValue&, const ConstantValue&) = default;
};

enum class CastTarget : std::uint8_t { text, integer, boolean, date, timestamptz };
inline constexpr std::array<std::string_view, 5> cast_names = {"text", "integer", "boolean", "date",
                                                               "timestamptz"};

struct Conversion {
    enum class Kind : std::uint8_t {
        epoch_seconds,
        epoch_millis,
        epoch_micros,
        epoch_nanos,
        epoch_days,
        base64,
        base64_decimal,
        decimal,
        cast,
        trim,
        lower,
        upper,
        map,
        json
    };
    Kind kind = Kind::trim;
    int scale = 0;                         // of base64_decimal
    CastTarget cast = CastTarget::text;    // of cast
    std::map<std::string, ConstantValue, std::less<>> map{};  // of map, by the value's text
    std::optional<ConstantValue> otherwise{};                 // for what is not in the map
    friend bool operator==(const Conversion&, const Conversion&) = default;
};
// As the configuration calls them, in the order of Conversion::Kind.
inline constexpr std::array<std::string_view, 14> conversion_names = {
    "epoch_seconds",  "epoch_millis", "epoch_micros", "epoch_nanos", "epoch_days",
    "base64",         "base64_decimal", "decimal",    "cast",        "trim",
    "lower",          "upper",        "map",          "json"};
inline constexpr std::array<std::string_view, 3> lossy_names = {"refuse", "round", "truncate"};

inline std::string_view name_of(const Conversion& conversion) {
    return conversion_names[static_cast<std::size_t>(conversion.kind)];
}

struct ColumnConversion {
    std::vector<Conversion> steps{};
    // The value of a column whose value is absent or null; no step is applied to it.
    std::optional<ConstantValue> fallback{};
    Lossy lossy = Lossy::refuse;
    bool changes_values() const { return !steps.empty() || fallback; }
    friend bool operator==(const ColumnConversion&, const ColumnConversion&) = default;
};

}  // namespace onceward
