#pragma once
// What PostgreSQL's catalog says of one table, read and not yet judged. Plain values; reading
// throws PostgresError.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dedup/postgres/connection.h"
#include "dedup/server/citus.h"

namespace onceward {

struct CatalogColumn {
    std::string name;
    std::uint32_t type = 0;
    int modifier = -1;
    std::string type_name;
    bool not_null = false;
    bool has_default = false;
    bool identity_always = false;
    bool identity = false;
    bool generated = false;
    bool may_select = false;
    bool may_update = false;
};

struct CatalogType {
    char kind = 'b';            // pg_type.typtype
    std::uint32_t base = 0;     // of a domain
    std::uint32_t element = 0;  // of an array
    int modifier = -1;          // of a domain
    std::string name;
    bool not_null = false;  // of a domain
};

struct CatalogTable {
    std::uint32_t oid = 0;
    std::string schema;
    std::string name;
    std::string quoted_name;  // with its schema, ready for a statement
    char kind = 'r';          // pg_class.relkind
    char persistence = 'p';
    bool has_rules = false;
    bool row_security = false;  // for this role
    bool may_insert = false;
    bool may_delete = false;
    std::uint32_t row_type = 0;
    std::uint32_t row_array_type = 0;
    std::vector<CatalogColumn> columns;
    std::map<std::uint32_t, CatalogType> types;
    std::vector<std::vector<std::string>> unique_keys;
    std::vector<std::string> unsafe_partitions;
    std::optional<CitusTable> citus;  // if Citus manages the table
    std::string fingerprint_query;    // sink_fingerprint.sql, for a table of this kind
    std::string fingerprint;
};

// Schema and name of `name` or `schema.name`: the schema is the part before the first point, or ''.
std::pair<std::string, std::string> schema_and_name(const std::string& text);

// Between double quotes, as a statement has it. REQUIRES: no NUL.
std::string quoted_identifier(std::string_view name);

// `table` is `name` or `schema.name`, as the config has it; nullopt if there is no such table.
std::optional<CatalogTable> read_table(Connection& connection, const std::string& table);

// One number for what would be read now. It changes whenever that does, and whenever something else
// changes that takes part when the table is written to.
std::string table_state(Connection& connection, const std::string& table);

// Names of tables in the same schema (or the search path), for messages.
std::vector<std::string> table_names(Connection& connection, const std::string& table);

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
    // The digits of numeric(p,s) (0 is no limit), and how many of them are after the point. If that
    // is below 0, the last digits before the point are zeros.
    int precision = 0;
    int scale = 0;
    int second_digits = 6;   // of time(n) and timestamp(n): digits of a second after the point
    std::string name;        // as PostgreSQL prints it, for messages
    std::shared_ptr<const ColumnType> element;  // of an array
};

// The column's type, with domains and arrays resolved; nullopt if this sink cannot write it.
std::optional<ColumnType> supported_type(const CatalogTable& table, const CatalogColumn& column);

// Whether the column's type is a domain that is NOT NULL, or is based on one. The column's own NOT
// NULL does not count.
bool has_not_null_domain(const CatalogTable& table, const CatalogColumn& column);

// Where a column's values come from, as far as it changes what they mean. Bytes that came whole (a
// header, a record key, a raw payload, a constant) are taken as they are by bytea and json columns;
// a decoded field's text is not.
enum class Provenance : std::uint8_t { field, whole };

}  // namespace onceward
