#pragma once
// What the brokers say of a partition's log, for the operator's commands. Joins no group. Used by
// one thread; a broker that does not answer is a KafkaError.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "consumer/kafka/kafka_error.h"
#include "consumer/kafka/kafka_source.h"

namespace onceward {

class BrokerView {
  public:
    explicit BrokerView(const KafkaOptions& options);
    ~BrokerView();
    // 0: there is no such topic, or it may not be seen.
    int partition_count(const std::string& topic);
    std::vector<std::string> topic_names();
    // The topic's properties, the broker's defaults included.
    std::map<std::string, std::string> topic_properties(const std::string& topic);
    // '' where the broker knows none.
    std::string topic_id(const std::string& topic);
    std::optional<Offset> group_offset(const TopicPartition& partition);
    // Logs what the client's connections complain of, and returns the last of it that says why no
    // broker would ever answer: a refused login, or TLS that fails. nullopt if there is none.
    std::optional<KafkaError> refusal();
    LogRange range(const TopicPartition& partition);
    // The first offset whose record is not older; the log's end where there is none.
    Offset offset_at(const TopicPartition& partition, std::chrono::milliseconds timestamp);

  private:
    struct Silent;
    std::unique_ptr<Silent> listener_;
    std::unique_ptr<KafkaSource> source_;
};

}  // namespace onceward
