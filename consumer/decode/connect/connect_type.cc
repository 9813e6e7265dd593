#include "consumer/decode/connect/connect_type.h"

#include <algorithm>
#include <array>
#include <utility>

#include "dedup/base/expects.h"

namespace onceward {

ConnectType connect_type(std::string_view name) {
    using Type = ConnectType;
    static constexpr std::array<std::pair<std::string_view, Type>, 13> names{{
        {"org.apache.kafka.connect.data.Decimal", Type::decimal},
        {"org.apache.kafka.connect.data.Date", Type::date},
        {"org.apache.kafka.connect.data.Time", Type::time_millis},
        {"org.apache.kafka.connect.data.Timestamp", Type::moment_millis},
        {"io.debezium.time.Date", Type::date},
        {"io.debezium.time.Time", Type::time_millis},
        {"io.debezium.time.MicroTime", Type::time_micros},
        {"io.debezium.time.NanoTime", Type::time_nanos},
        {"io.debezium.time.Timestamp", Type::local_millis},
        {"io.debezium.time.MicroTimestamp", Type::local_micros},
        {"io.debezium.time.NanoTimestamp", Type::local_nanos},
        {"io.debezium.data.VariableScaleDecimal", Type::variable_decimal},
        {"io.debezium.data.Json", Type::json},
    }};
    const auto* const found =
        std::ranges::find(names, name, &std::pair<std::string_view, Type>::first);
    return found == names.end() ? Type::plain : found->second;
}

std::int64_t units_a_second(ConnectType type) {
    switch (type) {
        case ConnectType::time_millis:
        case ConnectType::local_millis:
        case ConnectType::moment_millis: return 1'000;
        case ConnectType::time_micros:
        case ConnectType::local_micros: return 1'000'000;
        case ConnectType::time_nanos:
        case ConnectType::local_nanos: return 1'000'000'000;
        default: break;
    }
    expects(false, "only a time has units");
    return 0;
}

}  // namespace onceward
