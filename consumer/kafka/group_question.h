#pragma once
// The group as the brokers describe it, asked without ever waiting. Used by the reader's thread.
// Include it in .cc files only: it brings in librdkafka's headers.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "consumer/kafka/kafka_handles.h"
#include "consumer/kafka/kafka_source.h"
#include "dedup/base/types.h"

namespace onceward {

class GroupQuestion {
  public:
    // Does nothing while an earlier question is open.
    void ask(rd_kafka_t* client, const std::string& group, const std::vector<const char*>& topics);
    // The answer, once; nullopt if it is not there yet, or was an error.
    std::optional<GroupSight> told(rd_kafka_t* client);
    // Before the client is destroyed.
    void close() { answers_.reset(); }

  private:
    KafkaQueue answers_;
    int answers_due_ = 0;
    bool failed_ = false;
    GroupSight sight_;  // what the answers have said so far
};

// The member's id in its group; empty if it is in none.
std::string member_id(rd_kafka_t* client);

// Where the logs end, asked without ever waiting: for lag, not for retention. Used by the reader's
// thread. Include it in .cc files only: it brings in librdkafka's headers.
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
