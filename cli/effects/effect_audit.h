#pragma once
// `onceward audit --topic`: compares a range of a topic with the table that some consumer writes.
// It reads only: it joins no group, commits nothing, and asks PostgreSQL in a read-only
// transaction. Onceward's own tables need not exist. Used by one thread. Throws KafkaError,
// PostgresError, FormatError, and UsageError if the table or the column does not exist.

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/configuration/configuration.h"
#include "consumer/kafka/range_reader.h"
#include "dedup/postgres/connection.h"

namespace onceward {

struct EffectAudit {
    const Configuration& configuration;
    const TopicConfiguration& topic;  // how a message's key is found
    std::vector<Stretch> stretches;
    std::string table;   // `name` or `schema.name`
    std::string column;  // that holds the key's text
    std::string topic_id;
    std::shared_ptr<SchemaSource> schemas = nullptr;  // a patient one; null: from no registry
    std::function<void(std::int64_t messages)> progress = [](std::int64_t) {};
};

// EffectCounts::summary().
nlohmann::json audit_effects(Connection& connection, const EffectAudit& audit);

}  // namespace onceward
