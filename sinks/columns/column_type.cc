#include "sinks/columns/column_type.h"

#include "sinks/columns/catalog.h"

namespace onceward {
namespace {

// Object ids that are fixed in PostgreSQL's catalog (pg_type.dat).
std::optional<TypeKind> builtin(std::uint32_t oid) {
    switch (oid) {
        case 16: return TypeKind::boolean;
        case 17: return TypeKind::bytea;
        case 20: return TypeKind::int8;
        case 21: return TypeKind::int2;
        case 23: return TypeKind::int4;
        case 25: return TypeKind::text;
        case 114: return TypeKind::json;
        case 700: return TypeKind::float4;
        case 701: return TypeKind::float8;
        case 1042: return TypeKind::text;  // char(n)
        case 1043: return TypeKind::text;  // varchar(n)
        case 1082: return TypeKind::date;
        case 1083: return TypeKind::time;
        case 1114: return TypeKind::timestamp;
        case 1184: return TypeKind::timestamptz;
        case 1700: return TypeKind::numeric;
        case 2950: return TypeKind::uuid;
        case 3802: return TypeKind::jsonb;
        default: return std::nullopt;
    }
}

// Domains build on other types, arrays on elements. Neither can be circular, but a catalog is
// somebody else's data.
constexpr int deepest = 16;

std::optional<ColumnType> resolve(const std::map<std::uint32_t, CatalogType>& types,
                                  std::uint32_t declared, int modifier, bool array_allowed) {
    std::uint32_t oid = declared;
    auto found = types.find(oid);
    for (int depth = 0; found != types.end() && found->second.kind == 'd'; ++depth) {
        if (depth == deepest) return std::nullopt;
        modifier = found->second.modifier;
        oid = found->second.base;
        found = types.find(oid);
    }
    if (found == types.end()) return std::nullopt;
    ColumnType type;
    type.oid = declared;
    type.name = found->second.name;
    // The modifier of varchar(n) and char(n) counts its own four bytes.
    if ((oid == 1042 || oid == 1043) && modifier > 4) type.max_characters = modifier - 4;
    if (const auto kind = builtin(oid)) {
        type.kind = *kind;
        return type;
    }
    if (found->second.kind == 'e') {
        type.kind = TypeKind::enumeration;
        return type;
    }
    if (found->second.element == 0 || !array_allowed) return std::nullopt;
    auto element = resolve(types, found->second.element, modifier, false);
    if (!element) return std::nullopt;
    type.kind = TypeKind::array;
    type.element = std::make_shared<const ColumnType>(std::move(*element));
    return type;
}

}  // namespace

std::optional<ColumnType> supported_type(const CatalogTable& table, const CatalogColumn& column) {
    auto type = resolve(table.types, column.type, column.modifier, true);
    if (type) type->name = column.type_name;
    return type;
}

}  // namespace onceward
