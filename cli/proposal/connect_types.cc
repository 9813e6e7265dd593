#include "cli/proposal/connect_types.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "consumer/decode/connect/connect_type.h"

namespace onceward {
namespace {

using Entry = std::pair<std::string_view, std::string_view>;

// Types whose values the decoder leaves as they are.
constexpr std::array<Entry, 7> unchanged_types{{{"io.debezium.time.ZonedTimestamp", "timestamptz"},
                                                {"io.debezium.time.IsoDate", "date"},
                                                {"io.debezium.time.IsoTimestamp", "timestamptz"},
                                                {"io.debezium.time.Year", "integer"},
                                                {"io.debezium.data.Uuid", "uuid"},
                                                {"io.debezium.data.Bits", "bytea"},
                                                {"io.debezium.data.Enum", "text"}}};

constexpr std::array<Entry, 12> plain_types{{{"int8", "bigint"},
                                             {"int16", "bigint"},
                                             {"int32", "bigint"},
                                             {"int64", "bigint"},
                                             {"float32", "double precision"},
                                             {"float64", "double precision"},
                                             {"boolean", "boolean"},
                                             {"string", "text"},
                                             {"bytes", "bytea"},
                                             {"array", "jsonb"},
                                             {"map", "jsonb"},
                                             {"struct", "jsonb"}}};

std::optional<TypeChoice> choice_among(std::span<const Entry> types, std::string_view name) {
    const auto found = std::ranges::find(types, name, &Entry::first);
    if (found == types.end()) return std::nullopt;
    return TypeChoice{std::string(found->second)};
}

}  // namespace

// The decoder reads such values by their names, so no column needs a conversion. Debezium's times
// without a zone are of the source's clock, so their columns have none either.
std::optional<TypeChoice> named_connect_type(const std::string& name) {
    switch (connect_type(name)) {
        case ConnectType::decimal:
        case ConnectType::variable_decimal: return TypeChoice{"numeric"};
        case ConnectType::date: return TypeChoice{"date"};
        case ConnectType::time_millis:
        case ConnectType::time_micros:
        case ConnectType::time_nanos: return TypeChoice{"time"};
        case ConnectType::local_millis:
        case ConnectType::local_micros:
        case ConnectType::local_nanos: return TypeChoice{"timestamp"};
        case ConnectType::moment_millis: return TypeChoice{"timestamptz"};
        case ConnectType::json: return TypeChoice{"jsonb"};
        case ConnectType::plain: break;
    }
    return choice_among(unchanged_types, name);
}

std::optional<TypeChoice> plain_connect_type(const std::string& type) {
    return choice_among(plain_types, type);
}

}  // namespace onceward
