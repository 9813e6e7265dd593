#pragma once
// A column's type as far as writing it matters. Plain values; made from the catalog by
// table_plan.h.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace onceward {

enum class TypeKind : std::uint8_t {
    boolean,
    int2,
    int4,
    int8,
    float4,
    float8,
    numeric,
    text,  // text, varchar(n), char(n)
    bytea,
    uuid,
    json,
    jsonb,
    date,
    time,
    timestamp,
    timestamptz,
    enumeration,
    array,  // one dimension of any of the above
};

struct ColumnType {
    TypeKind kind = TypeKind::text;
    std::uint32_t oid = 0;   // as the catalog names it; a domain's own, not its base type's
    int max_characters = 0;  // of varchar(n) and char(n); 0 is no limit
    std::string name;        // as PostgreSQL prints it, for messages
    std::shared_ptr<const ColumnType> element;  // of an array
};

struct CatalogColumn;
struct CatalogTable;

// The column's type, with domains and arrays resolved; nullopt if this sink cannot write it.
std::optional<ColumnType> supported_type(const CatalogTable& table, const CatalogColumn& column);

// Where a column's values come from, as far as it changes what they mean. Bytes that came whole (a
// header, a record key, a raw payload, a constant) are taken as they are by bytea and json columns;
// a decoded field's text is not.
enum class Provenance : std::uint8_t { field, whole };

}  // namespace onceward
