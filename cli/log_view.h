#pragma once
// What the brokers say of a partition's log, for the operator's commands. Joins no group. Used by
// one thread; a broker that does not answer is a KafkaError.

#include <memory>
#include <optional>

#include "consumer/kafka_source.h"

namespace onceward {

class LogView {
 public:
    explicit LogView(const KafkaOptions& options);
    ~LogView();
    KafkaSource::Range range(const TopicPartition& partition);
    // The first offset whose record is not older; the log's end where there is none.
    Offset offset_at(const TopicPartition& partition, std::chrono::milliseconds timestamp);

 private:
    struct Silent;
    std::unique_ptr<Silent> listener_;
    std::unique_ptr<KafkaSource> source_;
};

}  // namespace onceward
