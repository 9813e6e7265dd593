#include "sinks/columns/catalog.h"

#include "dedup/base/text.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

std::string quoted(Connection& connection, const std::string& table) {
    const auto [schema, name] = schema_and_name(table);
    const std::string own = connection.quote_identifier(name);
    const bool alone = table.find('.') == std::string::npos;
    return alone ? own : connection.quote_identifier(schema) + "." + own;
}

std::uint32_t oid(const QueryResult& result, int row, int column) {
    return static_cast<std::uint32_t>(result.integer(row, column));
}

void read_columns(Connection& connection, const Parameters& table_oid, CatalogTable& table) {
    const QueryResult rows = connection.query(sql::sink_columns, table_oid);
    for (int row = 0; row < rows.rows(); ++row) {
        CatalogColumn& column = table.columns.emplace_back();
        column.name = rows.text(row, 0);
        column.type = oid(rows, row, 1);
        column.modifier = static_cast<int>(rows.integer(row, 2));
        column.not_null = rows.boolean(row, 3) || rows.boolean(row, 11);
        column.identity_always = rows.letter(row, 5) == 'a';
        column.identity = rows.letter(row, 5) != '\0';
        column.generated = rows.letter(row, 6) != '\0';
        column.has_default = rows.boolean(row, 4) || rows.boolean(row, 10);
        column.may_select = rows.boolean(row, 7);
        column.may_update = rows.boolean(row, 8);
        column.type_name = rows.text(row, 9);
    }
}

void read_types(Connection& connection, const Parameters& table_oid, CatalogTable& table) {
    const QueryResult rows = connection.query(sql::sink_types, table_oid);
    for (int row = 0; row < rows.rows(); ++row) {
        CatalogType& type = table.types[oid(rows, row, 0)];
        type.kind = rows.letter(row, 1);
        type.base = oid(rows, row, 2);
        type.element = oid(rows, row, 3);
        type.modifier = static_cast<int>(rows.integer(row, 4));
        type.name = rows.text(row, 5);
        type.not_null = rows.boolean(row, 6);
    }
}

void read_unique_keys(Connection& connection, const Parameters& table_oid, CatalogTable& table) {
    const QueryResult rows = connection.query(sql::sink_unique_keys, table_oid);
    std::uint32_t index = 0;
    for (int row = 0; row < rows.rows(); ++row) {
        if (oid(rows, row, 0) != index) table.unique_keys.emplace_back();
        index = oid(rows, row, 0);
        table.unique_keys.back().emplace_back(rows.text(row, 1));
    }
}

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

// What a type's modifier says of its values, as the types themselves read it.
void limit(TypeKind kind, int modifier, ColumnType& type) {
    constexpr int own_bytes = 4;  // that the modifier of types with a length counts
    if (kind == TypeKind::text && modifier > own_bytes) type.max_characters = modifier - own_bytes;
    if (kind == TypeKind::numeric && modifier >= own_bytes) {
        const int packed = modifier - own_bytes;
        type.precision = packed >> 16 & 0xffff;
        type.scale = ((packed & 0x7ff) ^ 0x400) - 0x400;  // 11 bits with a sign
    }
    const bool time = kind == TypeKind::time || kind == TypeKind::timestamp ||
                      kind == TypeKind::timestamptz;
    if (time && modifier >= 0 && modifier < type.second_digits) type.second_digits = modifier;
}

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
    const auto kind = builtin(oid);
    if (kind) limit(*kind, modifier, type);
    if (kind || found->second.kind == 'e') {
        type.kind = kind.value_or(TypeKind::enumeration);
        return type;
    }
    if (found->second.element == 0 || !array_allowed) return std::nullopt;
    auto element = resolve(types, found->second.element, modifier, false);
    if (!element) return std::nullopt;
    type.kind = TypeKind::array;
    type.element = std::make_shared<const ColumnType>(std::move(*element));
    return type;
}

// What a relation is belongs to its fingerprint, so a table of another kind has another one.
std::string fingerprint_query(char kind) {
    return replaced(std::string(sql::sink_fingerprint), "{partitions}",
                    kind == 'p' ? sql::sink_fingerprint_partitions : "NULL::bigint");
}

}  // namespace

std::string quoted_identifier(std::string_view name) {
    std::string text = "\"";
    for (const char c : name) text.append(c == '"' ? 2 : 1, c);
    return text + "\"";
}

std::pair<std::string, std::string> schema_and_name(const std::string& text) {
    const std::size_t point = text.find('.');
    if (point == std::string::npos) return {"", text};
    return {text.substr(0, point), text.substr(point + 1)};
}

std::optional<CatalogTable> read_table(Connection& connection, const std::string& name) {
    const QueryResult relation = connection.query(sql::sink_relation, {quoted(connection, name)});
    if (relation.rows() == 0) return std::nullopt;
    CatalogTable table;
    table.oid = oid(relation, 0, 0);
    table.schema = relation.text(0, 1);
    table.name = relation.text(0, 2);
    table.quoted_name =
        connection.quote_identifier(table.schema) + "." + connection.quote_identifier(table.name);
    table.kind = relation.letter(0, 3);
    table.fingerprint_query = fingerprint_query(table.kind);
    // Read before the columns, so that a change between the two reads shows at the first write.
    table.fingerprint = connection.query(table.fingerprint_query, {table.quoted_name}).text(0, 0);
    table.persistence = relation.letter(0, 4);
    table.has_rules = relation.boolean(0, 5);
    table.row_security = relation.boolean(0, 6);
    table.may_insert = relation.boolean(0, 7);
    table.may_delete = relation.boolean(0, 8);
    table.row_array_type = oid(relation, 0, 9);
    table.row_type = oid(relation, 0, 10);
    if (relation.boolean(0, 11)) {
        for (CitusTable& managed : citus_tables(connection, table.oid, "")) {
            table.citus = std::move(managed);
        }
    }
    const Parameters table_oid{table.oid};
    read_columns(connection, table_oid, table);
    read_types(connection, table_oid, table);
    read_unique_keys(connection, table_oid, table);
    if (table.kind == 'p') {
        const QueryResult partitions = connection.query(sql::sink_unsafe_partitions, table_oid);
        for (int row = 0; row < partitions.rows(); ++row) {
            table.unsafe_partitions.emplace_back(partitions.text(row, 0));
        }
    }
    return table;
}

std::string table_state(Connection& connection, const std::string& table) {
    const QueryResult state = connection.query(sql::sink_state, {quoted(connection, table)});
    return std::string(state.text(0, 0));
}

std::vector<std::string> table_names(Connection& connection, const std::string& table) {
    const QueryResult rows =
        connection.query(sql::sink_table_names, {schema_and_name(table).first});
    std::vector<std::string> names;
    for (int row = 0; row < rows.rows(); ++row) names.emplace_back(rows.text(row, 0));
    return names;
}

std::optional<ColumnType> supported_type(const CatalogTable& table, const CatalogColumn& column) {
    auto type = resolve(table.types, column.type, column.modifier, true);
    if (type) type->name = column.type_name;
    return type;
}

bool has_not_null_domain(const CatalogTable& table, const CatalogColumn& column) {
    auto found = table.types.find(column.type);
    for (int depth = 0; depth < deepest && found != table.types.end(); ++depth) {
        if (found->second.kind != 'd') return false;
        if (found->second.not_null) return true;
        found = table.types.find(found->second.base);
    }
    return false;
}

}  // namespace onceward
