#pragma once
// What the brokers say of a partition's log, for the operator's commands. Joins no group. Used by
// one thread; a broker that does not answer is a KafkaError.

#include <optional>
#include <string>

#include "consumer/kafka/kafka_error.h"
#include "consumer/kafka/kafka_source.h"

namespace onceward {

class BrokerView {
  public:
    explicit BrokerView(const KafkaOptions& options) : source_(options, 0, {}, listener_) {}
    virtual ~BrokerView() = default;
    // Questions through it are asked only once.
    BrokerQueries queries() const { return source_.queries(); }
    std::optional<Offset> group_offset(const TopicPartition& partition);
    // Logs the errors of the client's connections, and returns the last one after which no broker
    // would ever answer: a refused login, or TLS that fails. nullopt if there is none.
    std::optional<KafkaError> refusal();
    LogRange range(const TopicPartition& partition);
    // The first offset whose record is not older; the log's end if there is none. A test answers in
    // its place.
    virtual Offset offset_at(const TopicPartition& partition, std::chrono::milliseconds timestamp);

  private:
    SilentListener listener_;
    KafkaSource source_;
};

}  // namespace onceward
