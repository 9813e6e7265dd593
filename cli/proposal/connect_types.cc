#include "cli/proposal/connect_types.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace onceward {
namespace {

using ConnectStep = Conversion::Kind;

struct NamedType {
    std::string_view name;
    std::string_view type;
    std::optional<ConnectStep> step{};
};

// Debezium's times without a zone are of the source's clock, so their columns have none either.
constexpr std::array<NamedType, 18> named_types{
    {{"org.apache.kafka.connect.data.Date", "date", ConnectStep::epoch_days},
     {"org.apache.kafka.connect.data.Time", "time", ConnectStep::epoch_millis},
     {"org.apache.kafka.connect.data.Timestamp", "timestamptz", ConnectStep::epoch_millis},
     {"io.debezium.time.Date", "date", ConnectStep::epoch_days},
     {"io.debezium.time.Time", "time", ConnectStep::epoch_millis},
     {"io.debezium.time.MicroTime", "time", ConnectStep::epoch_micros},
     {"io.debezium.time.NanoTime", "time", ConnectStep::epoch_nanos},
     {"io.debezium.time.Timestamp", "timestamp", ConnectStep::epoch_millis},
     {"io.debezium.time.MicroTimestamp", "timestamp", ConnectStep::epoch_micros},
     {"io.debezium.time.NanoTimestamp", "timestamp", ConnectStep::epoch_nanos},
     {"io.debezium.time.ZonedTimestamp", "timestamptz"},
     {"io.debezium.time.IsoDate", "date"},
     {"io.debezium.time.IsoTimestamp", "timestamptz"},
     {"io.debezium.time.Year", "integer"},
     {"io.debezium.data.Uuid", "uuid"},
     {"io.debezium.data.Json", "jsonb", ConnectStep::json},
     {"io.debezium.data.VariableScaleDecimal", "jsonb"},
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

std::optional<TypeChoice> named_connect_type(const std::string& name, int scale) {
    if (name == "org.apache.kafka.connect.data.Decimal") {
        return TypeChoice{"numeric", {{.kind = ConnectStep::base64_decimal, .scale = scale}}};
    }
    const auto found = std::ranges::find(named_types, name, &NamedType::name);
    if (found == named_types.end()) return std::nullopt;
    TypeChoice choice{std::string(found->type)};
    if (found->step) choice.steps = {{.kind = *found->step}};
    return choice;
}

std::optional<TypeChoice> plain_connect_type(const std::string& type) {
    const auto found = std::ranges::find(plain_types, type,
                                         &std::pair<std::string_view, std::string_view>::first);
    if (found == plain_types.end()) return std::nullopt;
    return TypeChoice{std::string(found->second)};
}

}  // namespace onceward
