#pragma once
// Some of a topic's newest records, and what its schema registry has for it. It joins no group,
// commits nothing and writes nothing. Used by one thread. Failures are KafkaErrors.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/configuration/configuration.h"
#include "cli/operator/broker_view.h"
#include "consumer/decode/schema_source.h"
#include "consumer/kafka/range_reader.h"

namespace onceward {

// How long the reading of a sample may take.
inline constexpr std::chrono::seconds sample_patience{30};

// Where the newest `count` records are, as evenly as can be from all partitions. Empty if the
// brokers do not know the topic.
std::vector<Stretch> newest_stretches(BrokerView& log, const std::string& topic, int count);

class TopicSample {
  public:
    // `registry`: nullopt if there is none. It is not asked yet.
    TopicSample(const KafkaOptions& kafka, std::string topic,
                std::optional<RegistryConfiguration> registry);

    // Whether the brokers know the topic.
    bool exists();
    // Views of what this object owns.
    const std::vector<Record>& read(int count);

    // The registry's schemas, with an answer to each question; null without a registry.
    const std::shared_ptr<SchemaSource>& schemas() const { return schemas_; }
    // What is registered for the topic's values (`TOPIC-value`); null if nothing is. Throws
    // std::runtime_error if the registry cannot be asked.
    std::shared_ptr<const WrittenSchema> latest_schema();

    // Returns `wanted`, with a number after it if the group has committed something for the topic.
    std::string new_group(const std::string& wanted);

  private:
    KafkaOptions kafka_;
    std::string topic_;
    std::optional<RegistryConfiguration> registry_;
    BrokerView log_;
    RangeReader reader_;
    std::vector<Record> records_;  // destroyed before their reader
    std::shared_ptr<SchemaSource> schemas_;
};

}  // namespace onceward
