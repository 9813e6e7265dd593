#include "cli/proposal/connect_types.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace onceward {
namespace {

struct NamedType {
    std::string_view name;
    std::string_view type;
};

// The decoder reads such values by their names, so no column needs a conversion. Debezium's times
// without a zone are of the source's clock, so their columns have none either.
constexpr std::array<NamedType, 20> named_types{
    {{"org.apache.kafka.connect.data.Decimal", "numeric"},
     {"org.apache.kafka.connect.data.Date", "date"},
     {"org.apache.kafka.connect.data.Time", "time"},
     {"org.apache.kafka.connect.data.Timestamp", "timestamptz"},
     {"io.debezium.time.Date", "date"},
     {"io.debezium.time.Time", "time"},
     {"io.debezium.time.MicroTime", "time"},
     {"io.debezium.time.NanoTime", "time"},
     {"io.debezium.time.Timestamp", "timestamp"},
     {"io.debezium.time.MicroTimestamp", "timestamp"},
     {"io.debezium.time.NanoTimestamp", "timestamp"},
     {"io.debezium.time.ZonedTimestamp", "timestamptz"},
     {"io.debezium.time.IsoDate", "date"},
     {"io.debezium.time.IsoTimestamp", "timestamptz"},
     {"io.debezium.time.Year", "integer"},
     {"io.debezium.data.Uuid", "uuid"},
     {"io.debezium.data.Json", "jsonb"},
     {"io.debezium.data.VariableScaleDecimal", "numeric"},
     {"io.debezium.data.Bits", "bytea"},
     {"io.debezium.data.Enum", "text"}}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 12> plain_types{
    {{"int8", "bigint"},
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

}  // namespace

std::optional<TypeChoice> named_connect_type(const std::string& name) {
    const auto found = std::ranges::find(named_types, name, &NamedType::name);
    if (found == named_types.end()) return std::nullopt;
    return TypeChoice{std::string(found->type)};
}

std::optional<TypeChoice> plain_connect_type(const std::string& type) {
    const auto found = std::ranges::find(plain_types, type,
                                         &std::pair<std::string_view, std::string_view>::first);
    if (found == plain_types.end()) return std::nullopt;
    return TypeChoice{std::string(found->second)};
}

}  // namespace onceward
