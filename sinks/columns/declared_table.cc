#include "sinks/columns/declared_table.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "dedup/base/nearest_name.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

struct KnownType {
    std::string_view name;
    std::uint32_t oid;
    std::uint32_t array_oid;
};

// Object ids that are fixed in PostgreSQL's catalog (pg_type.dat). The id of `enum` is none of
// them: enumerations have ids of their own in each database.
constexpr std::uint32_t any_enum = 1;
constexpr std::uint32_t any_enum_array = 2;
constexpr std::array<KnownType, 38> known_types{{{"boolean", 16, 1000},
                                                 {"bool", 16, 1000},
                                                 {"bytea", 17, 1001},
                                                 {"bigint", 20, 1016},
                                                 {"int8", 20, 1016},
                                                 {"bigserial", 20, 1016},
                                                 {"smallint", 21, 1005},
                                                 {"int2", 21, 1005},
                                                 {"smallserial", 21, 1005},
                                                 {"integer", 23, 1007},
                                                 {"int", 23, 1007},
                                                 {"int4", 23, 1007},
                                                 {"serial", 23, 1007},
                                                 {"text", 25, 1009},
                                                 {"json", 114, 199},
                                                 {"real", 700, 1021},
                                                 {"float4", 700, 1021},
                                                 {"double precision", 701, 1022},
                                                 {"float8", 701, 1022},
                                                 {"float", 701, 1022},
                                                 {"character", 1042, 1014},
                                                 {"char", 1042, 1014},
                                                 {"bpchar", 1042, 1014},
                                                 {"character varying", 1043, 1015},
                                                 {"varchar", 1043, 1015},
                                                 {"date", 1082, 1182},
                                                 {"time", 1083, 1183},
                                                 {"time without time zone", 1083, 1183},
                                                 {"timestamp", 1114, 1115},
                                                 {"timestamp without time zone", 1114, 1115},
                                                 {"timestamptz", 1184, 1185},
                                                 {"timestamp with time zone", 1184, 1185},
                                                 {"numeric", 1700, 1231},
                                                 {"decimal", 1700, 1231},
                                                 {"dec", 1700, 1231},
                                                 {"uuid", 2950, 2951},
                                                 {"jsonb", 3802, 3807},
                                                 {"enum", any_enum, any_enum_array}}};

struct TypeName {
    std::string base{};     // in lower case, single blanks
    std::string numbers{};  // within the parentheses
    bool array = false;
};

// Splits `timestamp(3) with time zone[]` into its parts.
TypeName parts_of(const std::string& text) {
    TypeName name;
    std::string rest = lower_case(text);
    if (const std::size_t bracket = rest.find('['); bracket != std::string::npos) {
        name.array = true;
        rest.resize(bracket);
    }
    const std::size_t open = rest.find('(');
    const std::size_t close = rest.find(')');
    if (open != std::string::npos && close != std::string::npos && close > open) {
        name.numbers = rest.substr(open + 1, close - open - 1);
        rest = rest.substr(0, open) + rest.substr(close + 1);
    }
    for (const char c : rest) {
        if (c != ' ' || (!name.base.empty() && name.base.back() != ' ')) name.base += c;
    }
    while (name.base.ends_with(' ')) name.base.pop_back();
    return name;
}

const KnownType& known_type(const std::string& text, const std::string& base) {
    const auto found = std::ranges::find(known_types, base, &KnownType::name);
    if (found != known_types.end()) return *found;
    std::vector<std::string> names;
    for (const KnownType& type : known_types) names.emplace_back(type.name);
    const std::string hint = did_you_mean(base, names);
    throw std::invalid_argument("the type `" + text + "` is not known" +
                                (hint.empty() ? "." : hint) +
                                " Write `enum` for an enumeration, and a domain's base type.");
}

std::invalid_argument no_limits(const std::string& type, const char* wanted) {
    return std::invalid_argument("`" + type + "` has no valid " + wanted);
}

// The modifier that the catalog would have for what is in the parentheses.
int modifier_of(const std::string& type, const KnownType& known, const std::string& numbers) {
    constexpr int own_bytes = 4;
    constexpr int most_digits = 1000;
    const bool text = known.oid == 1042 || known.oid == 1043;
    if (text && (!numbers.empty() || known.name == "character" || known.name == "char")) {
        const auto most = number_of<int>(numbers.empty() ? "1" : numbers);
        if (!most || *most < 1) throw no_limits(type, "length");
        return *most + own_bytes;
    }
    if (numbers.empty()) return -1;
    if (known.oid == 1700) {
        std::string plain = numbers;
        std::erase(plain, ' ');
        const std::size_t comma = std::min(plain.find(','), plain.size());
        const auto precision = number_of<int>(plain.substr(0, comma));
        const auto scale = number_of<int>(comma < plain.size() ? plain.substr(comma + 1) : "0");
        if (!precision || *precision < 1 || *precision > most_digits || !scale ||
            *scale < -most_digits || *scale > most_digits) {
            throw no_limits(type, "precision and scale");
        }
        return (*precision << 16 | (*scale & 0x7ff)) + own_bytes;
    }
    if (known.oid == 1083 || known.oid == 1114 || known.oid == 1184) {
        const auto digits = number_of<int>(numbers);
        if (!digits || *digits < 0) throw no_limits(type, "precision");
        return std::min(*digits, 6);
    }
    return -1;
}

// Adds what the column needs to be understood: its type, and the element's of an array.
void declare(const std::string& type, CatalogColumn& column, CatalogTable& table) {
    const TypeName name = parts_of(type);
    const KnownType& known = known_type(type, name.base);
    column.modifier = modifier_of(type, known, name.numbers);
    const char kind = known.oid == any_enum ? 'e' : 'b';
    table.types[known.oid] = {.kind = kind, .name = std::string(known.name)};
    column.type = known.oid;
    if (name.array) {
        table.types[known.array_oid] = {.element = known.oid, .name = type};
        column.type = known.array_oid;
    }
    column.type_name = type;
}

}  // namespace

CatalogTable declared_table(const std::string& table, const ColumnTypes& columns,
                            const std::vector<std::string>& unique_key) {
    CatalogTable declared;
    const auto [schema, name] = schema_and_name(table);
    declared.schema = schema.empty() ? "public" : schema;
    declared.name = name;
    declared.quoted_name = table;
    declared.may_insert = true;
    declared.may_delete = true;
    for (const auto& [column_name, type] : columns) {
        CatalogColumn& column = declared.columns.emplace_back();
        column.name = column_name;
        column.may_select = true;
        column.may_update = true;
        try {
            declare(type, column, declared);
        } catch (const std::invalid_argument& error) {
            throw std::invalid_argument("column `" + column_name + "`: " + error.what());
        }
    }
    if (!unique_key.empty()) declared.unique_keys.push_back(unique_key);
    return declared;
}

ColumnType declared_type(const std::string& name) {
    CatalogTable table;
    CatalogColumn column;
    declare(name, column, table);
    return supported_type(table, column).value();
}

std::string declarable(const CatalogTable& table, const CatalogColumn& column) {
    const auto type = table.types.find(column.type);
    if (type == table.types.end()) return column.type_name;
    const auto element = table.types.find(type->second.element);
    const bool array = element != table.types.end();
    const CatalogType& inner = array ? element->second : type->second;
    const std::string suffix = array ? "[]" : "";
    if (inner.kind == 'e') return "enum" + suffix;
    const auto base = table.types.find(inner.base);
    if (inner.kind != 'd' || base == table.types.end()) return column.type_name;
    return (base->second.kind == 'e' ? "enum" : base->second.name) + suffix;
}

}  // namespace onceward
