// Values on their way through conversions and into each type of column, in PostgreSQL's binary
// form.

#include "sinks/columns/convert.h"

#include "consumer/decode/decoder.h"
#include "tests/fuzz/fuzz.h"

namespace onceward::fuzz {
namespace {

constexpr int type_count = static_cast<int>(TypeKind::array) + 1;
constexpr int value_count = static_cast<int>(Value::Kind::timestamp) + 1;

ColumnType type_of(std::uint8_t choice) {
    ColumnType type;
    type.kind = static_cast<TypeKind>(choice % type_count);
    type.max_characters = (choice & 0x80) != 0 ? 3 : 0;
    type.precision = (choice & 0x80) != 0 ? 5 : 0;
    type.scale = 2;
    type.second_digits = (choice & 0x80) != 0 ? 3 : 6;
    return type;
}

// Up to three steps, each of one byte.
ColumnConversion conversion_of(Parts& parts) {
    ColumnConversion conversion;
    const std::uint8_t how = parts.byte();
    conversion.lossy = static_cast<Lossy>(how % 3);
    for (int step = how / 3 % 4; step > 0; --step) {
        const std::uint8_t what = parts.byte();
        Conversion& made = conversion.steps.emplace_back();
        made.kind = static_cast<Conversion::Kind>(what % conversion_names.size());
        made.cast = static_cast<CastTarget>(what / 16 % cast_names.size());
        made.scale = what % 7 - 3;
        made.map = {{"a", {Value::Kind::text, "b"}}, {"1", {Value::Kind::number, "2"}}};
        if ((what & 0x80) != 0) made.otherwise = ConstantValue{Value::Kind::null, ""};
    }
    return conversion;
}

std::uint32_t length_at(std::string_view bytes, std::size_t at) {
    std::uint32_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        length = length << 8 | static_cast<std::uint8_t>(bytes[at + i]);
    }
    return length;
}

// How many bytes a value of fixed width has; 0 for the others.
std::size_t width_of(TypeKind kind) {
    switch (kind) {
        case TypeKind::boolean: return 1;
        case TypeKind::int2: return 2;
        case TypeKind::int4:
        case TypeKind::float4:
        case TypeKind::date: return 4;
        case TypeKind::int8:
        case TypeKind::float8:
        case TypeKind::time:
        case TypeKind::timestamp:
        case TypeKind::timestamptz: return 8;
        case TypeKind::uuid: return 16;
        case TypeKind::numeric:
        case TypeKind::text:
        case TypeKind::bytea:
        case TypeKind::json:
        case TypeKind::jsonb:
        case TypeKind::enumeration:
        case TypeKind::array: return 0;
    }
    return 0;
}

}  // namespace
}  // namespace onceward::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace onceward;
    fuzz::Parts parts(fuzz::text_of(data, size));
    ColumnType type = fuzz::type_of(parts.byte());
    type.element = std::make_shared<const ColumnType>(fuzz::type_of(parts.byte() % 17));
    const ColumnConversion conversion = fuzz::conversion_of(parts);
    const std::uint8_t what = parts.byte();
    Value value;
    value.kind = static_cast<Value::Kind>(what % fuzz::value_count);
    value.text = parts.rest();
    // The decoders promise UTF-8 for every text; only bytes are any bytes.
    if (value.kind != Value::Kind::bytes && !is_utf8(value.text)) return 0;
    value.natural = 0;
    for (std::size_t i = 0; i < 8 && i < parts.rest().size(); ++i) {
        value.natural = value.natural << 8 | static_cast<std::uint8_t>(parts.rest()[i]);
    }
    if (value.kind == Value::Kind::boolean) value.boolean = (what & 0x80) != 0;
    // As the decoders leave it: a time is of its microseconds alone.
    if (value.kind == Value::Kind::timestamp) value.text = {};
    const auto provenance = (what & 0x40) != 0 ? Provenance::whole : Provenance::field;
    const auto append = [&](std::string& out) {
        Value made = value;
        Provenance of = provenance;
        const Misfit misfit = convert(conversion, type.kind, made, of);
        if (!misfit.empty()) return misfit;
        return append_value(made, type, of, out, conversion.lossy);
    };
    std::string first;
    std::string second;
    const Misfit misfit = append(first);
    fuzz::require(misfit == append(second), "the same value fits again, or does not");
    if (!misfit.empty()) return 0;
    fuzz::require(first == second, "the same value has the same bytes");
    const std::uint32_t length = fuzz::length_at(first, 0);
    if (length == 0xffffffff) {
        fuzz::require(first.size() == 4, "NULL has no bytes");
        return 0;
    }
    fuzz::require(first.size() == 4 + std::size_t{length}, "the length counts the bytes after it");
    const std::size_t width = fuzz::width_of(type.kind);
    fuzz::require(width == 0 || width == length, "a type of fixed width has that width");
    if (type.kind == TypeKind::text) {
        fuzz::require(is_utf8(std::string_view(first).substr(4)), "text columns get UTF-8");
        fuzz::require(first.find('\0', 4) == std::string::npos, "text columns get no NUL");
    }
    return 0;
}
