#pragma once
// How to reach Kafka and where a partition's reading begins. Plain values.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "dedup/base/secret.h"

namespace onceward {

// How much librdkafka holds of fetched messages, unless the configuration says otherwise: for all
// topics of a worker, and the smallest share that a topic has.
inline constexpr std::size_t queued_kilobytes = 16384;
inline constexpr std::size_t queued_kilobytes_each = 1024;

struct KafkaOptions {
    std::string bootstrap_servers;
    std::string group;  // group.id; required
    // librdkafka properties passed on as they are; those that break the guarantee are refused
    // (refused_property()). Some are secrets (sasl.password, ssl.key.password), so none is ever
    // printed.
    std::map<std::string, Secret> properties;
    // For static membership: group.instance.id is this + `-` + the worker's number; '' means
    // dynamic members.
    std::string instance_id;
};

// Where reading begins for a group that has no fence and, with `committed`, no committed offset
// either.
struct StartPosition {
    enum class Kind : std::uint8_t { committed, earliest, latest, timestamp };
    Kind kind = Kind::committed;
    std::chrono::milliseconds timestamp{0};  // since 1970-01-01 UTC
    // With `committed`, if the group has none.
    enum class Fallback : std::uint8_t { earliest, latest } fallback = Fallback::earliest;
};

enum class OutOfRangePolicy : std::uint8_t { halt, earliest, latest };

// The property's value, or `otherwise` if it is not set. REQUIRES: librdkafka accepts the value.
std::chrono::milliseconds time_property(const KafkaOptions& options, const std::string& name,
                                        std::chrono::milliseconds otherwise);
// Whether the group's members assign the partitions among themselves, and not the brokers
// (KIP-848).
bool classic_protocol(const KafkaOptions& options);
// Why this librdkafka property may not be set (or not to this value); '' if it may. Names the
// reason and the way out.
std::string refused_property(const std::string& name, const std::string& value);
// Whether the property's value is a secret (sasl.password, ssl.key.password, ...).
bool secret_property(const std::string& name);
// Why librdkafka refuses the property, with the nearest name if it is unknown; '' if it does not.
std::string unknown_property(const std::string& name, const std::string& value);

}  // namespace onceward
