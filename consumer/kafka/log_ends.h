#pragma once
// Where the logs end, asked without ever waiting: for lag, not for retention. Used by the reader's
// thread. Include it in .cc files only: it brings in librdkafka's headers.

#include <map>
#include <vector>

#include "consumer/kafka/kafka_handles.h"
#include "dedup/base/types.h"

namespace onceward {

class LogEnds {
  public:
    // One request for each broker.
    void ask(rd_kafka_t* client, const std::vector<TopicPartition>& partitions);
    // What was answered since the last call.
    std::map<TopicPartition, Offset> told();
    // Before the client is destroyed.
    void close() { answers_.reset(); }

  private:
    KafkaQueue answers_;
};

}  // namespace onceward
