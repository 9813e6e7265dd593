#include "sinks/columns/convert.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "dedup/base/json_reader.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

constexpr std::string_view blanks = " \t\n\r\f\v";

bool holds_text(const Value& value) {
    return value.kind == Value::Kind::text || value.kind == Value::Kind::bytes;
}

// Numbers, booleans and times have neither blanks nor letters.
Misfit change_text(Conversion::Kind kind, Value& value, std::string& room) {
    if (value.kind == Value::Kind::json) {
        return "is an object or array, which has no text to change";
    }
    if (!holds_text(value)) return {};
    if (kind == Conversion::Kind::trim) {
        const std::size_t begin = std::min(value.text.find_first_not_of(blanks), value.text.size());
        value.text.remove_prefix(begin);
        value.text = value.text.substr(0, value.text.find_last_not_of(blanks) + 1);
        return {};
    }
    const bool lower = kind == Conversion::Kind::lower;
    room.assign(value.text);
    for (char& c : room) {
        if (lower && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        if (!lower && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    value.text = room;
    return {};
}

Misfit from_base64(Value& value, std::string& room) {
    constexpr Misfit no_base64 = "is not base64";
    if (!holds_text(value)) return no_base64;
    room.clear();
    if (!append_base64(value.text, room)) return no_base64;
    value = {Value::Kind::bytes, {}, room};
    return {};
}

// A field's bytes are the number itself; bytes that came whole (a header, a record key) may be text
// by accident, so they are always read as base64.
Misfit from_base64_decimal(const Conversion& conversion, Provenance provenance, Value& value,
                           std::string& room) {
    if (value.kind == Value::Kind::bytes && provenance == Provenance::field) {
        return steps::unscaled_decimal(value.text, conversion.scale, value, room);
    }
    std::string bytes;
    if (const Misfit misfit = from_base64(value, bytes); !misfit.empty()) return misfit;
    return steps::unscaled_decimal(bytes, conversion.scale, value, room);
}

Misfit mapped(const Conversion& conversion, Value& value) {
    const auto found = [&](std::string_view text) {
        const auto entry = conversion.map.find(text);
        if (entry != conversion.map.end()) return &entry->second;
        return conversion.otherwise ? &*conversion.otherwise : nullptr;
    };
    const ConstantValue* to = nullptr;
    switch (value.kind) {
        case Value::Kind::text:
        case Value::Kind::bytes:
        case Value::Kind::number: to = found(value.text); break;
        case Value::Kind::boolean: to = found(value.boolean ? "true" : "false"); break;
        case Value::Kind::integer:
        case Value::Kind::natural:
        case Value::Kind::real: to = found(encode::NumberText(value).view()); break;
        case Value::Kind::json:
        case Value::Kind::timestamp:
        case Value::Kind::absent:
        case Value::Kind::null: break;
    }
    if (to == nullptr) return "is not in the column's `map`, which has no `otherwise`";
    value = to->value();
    return {};
}

// A visitor that keeps the text of the outermost value, without its escapes, and no other.
struct OutermostText {
    using Place = bool;  // whether it is the outermost one
    std::string& kept;
    std::string fault{};
    bool literal(Place, std::string_view) { return true; }
    void text(Place outermost, std::string_view text, bool) {
        if (outermost) kept.assign(text);
    }
    void open(Place, char) {}
    bool member(Place, std::string_view, Place&) { return true; }
    Place element(Place, std::uint64_t) { return false; }
    template <class Raw>
    bool close(Place, char, const Raw&) {
        return true;
    }
};

// What a text that holds JSON means. No number is converted, so one of any size keeps its digits.
Misfit from_json(Value& value, std::string& room) {
    if (!holds_text(value)) return {};
    thread_local JsonBuffer buffer;
    room.clear();
    OutermostText outermost{room};
    if (JsonReader<OutermostText>(buffer, outermost).run(value.text, true)) return "is not JSON";
    const std::string_view text = trim_json_space(value.text);
    switch (text.front()) {
        case '{':
        case '[': value = {Value::Kind::json, {}, text}; break;
        case '"': value = {Value::Kind::text, {}, room}; break;
        case 'n': value = {Value::Kind::null, {}, {}}; break;
        case 't':
        case 'f': value = {.kind = Value::Kind::boolean, .boolean = text == "true"}; break;
        default: value = {Value::Kind::number, {}, text}; break;
    }
    return {};
}

Misfit apply(const Conversion& step, TypeKind target, Lossy lossy, Value& value,
             Provenance& provenance, std::string& room) {
    using Kind = Conversion::Kind;
    const Provenance before = std::exchange(provenance, Provenance::field);
    switch (step.kind) {
        case Kind::epoch_seconds:
        case Kind::epoch_millis:
        case Kind::epoch_micros:
        case Kind::epoch_nanos:
        case Kind::epoch_days: return steps::epoch(step.kind, target, lossy, value, room);
        case Kind::base64: return from_base64(value, room);
        case Kind::base64_decimal: return from_base64_decimal(step, before, value, room);
        case Kind::decimal: return steps::decimal(value, room);
        case Kind::cast: return steps::cast(step.cast, target, lossy, value, room);
        case Kind::trim:
        case Kind::lower:
        case Kind::upper: provenance = before; return change_text(step.kind, value, room);
        case Kind::map: return mapped(step, value);
        case Kind::json: return from_json(value, room);
    }
    return {};
}

// Whether the value has a view of the room. For an empty text it does not matter.
bool views(const Value& value, const std::string& room) {
    const std::less<const char*> before;
    return !value.text.empty() && !before(value.text.data(), room.data()) &&
           before(value.text.data(), room.data() + room.size());
}

}  // namespace

Misfit convert_present(const ColumnConversion& conversion, TypeKind target, Value& value,
                       Provenance& provenance) {
    // A step may read what the step before it has written, so it never writes over that.
    thread_local std::array<std::string, 2> rooms;
    std::size_t room = 0;
    for (const Conversion& step : conversion.steps) {
        if (is_missing(value)) return {};
        const Misfit misfit =
            apply(step, target, conversion.lossy, value, provenance, rooms[room]);
        if (!misfit.empty()) return misfit;
        if (views(value, rooms[room])) room = 1 - room;
    }
    return {};
}

Misfit convert(const ColumnConversion& conversion, TypeKind target, Value& value,
               Provenance& provenance) {
    if (!is_missing(value) || !conversion.fallback) {
        return convert_present(conversion, target, value, provenance);
    }
    value = conversion.fallback->value();
    // It is treated as a constant: for json and jsonb it has to be JSON. In a document it is text.
    provenance = Provenance::whole;
    if (target == TypeKind::array) value.kind = Value::Kind::json;
    return {};
}

}  // namespace onceward
