#pragma once
// Fills evidence from Kafka through librdkafka's C API: reads each topic whole with
// isolation.level=read_committed, so that control records and aborted messages are gaps. Failures
// are std::runtime_errors: the run could not be checked.

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "tests/faults/checker/evidence.h"

struct rd_kafka_s;

namespace onceward::checker {

struct KafkaSource {
    std::string bootstrap_servers;
    std::string consumer_group;
    std::string id_header = "message-id";  // its value: the message's id in decimal digits
    std::vector<std::pair<std::string, std::string>> properties;
    std::chrono::milliseconds limit{60'000};
};

// The log of every partition of every topic of the evidence, the contents at the places of its
// dead letters (so load the database first), and the group's committed offsets.
void load_kafka(const KafkaSource& source, Evidence& evidence);

// The records of a topic that the outbox publishes to.
void load_published(const KafkaSource& source, const std::string& topic, Evidence& evidence);

// The committed offsets alone. The second form asks through a consumer that stays open.
std::vector<CommittedOffset> committed_offsets(const KafkaSource& source, const Evidence& evidence);
std::vector<CommittedOffset> committed_offsets(rd_kafka_s* consumer,
                                               std::chrono::milliseconds limit,
                                               const Evidence& evidence);

}  // namespace onceward::checker
