#pragma once
// Questions to the brokers that wait for an answer, for some seconds at most. Thread-safe. A value
// that borrows the client, which must outlive it. Failures are KafkaErrors: an error is never an
// empty answer.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dedup/base/types.h"
#include "dedup/fence/fence.h"

struct rd_kafka_s;

namespace onceward {

// What a group has committed for a partition.
struct GroupOffset {
    Offset offset;
    LeaderEpoch leader_epoch{-1};
    std::string metadata;
};

// The offsets that a partition's log holds; the latest is exclusive.
struct LogRange {
    Offset earliest;
    Offset latest;
};

class BrokerQueries {
  public:
    explicit BrokerQueries(rd_kafka_s* client) : client_(client) {}

    // The group's committed offset; nullopt if the group has none.
    std::optional<GroupOffset> group_offset(const TopicPartition& partition) const;
    LogRange range(const TopicPartition& partition) const;
    // The first offset whose record is not older than that; the end of the log if there is none.
    Offset offset_at(const TopicPartition& partition, std::chrono::milliseconds timestamp) const;
    // The high watermark, for any isolation level: acknowledged messages may lie after the last
    // stable offset.
    std::optional<Offset> high_watermark(const TopicPartition& partition) const;
    // 0 if the brokers do not know the topic.
    int partition_count(const std::string& topic) const;
    // The topics that this user may see.
    std::vector<std::string> topic_names() const;
    // The topic's properties, with the broker's defaults; needs the permission to describe them.
    std::map<std::string, std::string> topic_properties(const std::string& topic) const;
    LogIdentity identity(const std::string& topic) const;
    // `host:port` of each broker of the cluster, as the first one that answers knows them.
    std::vector<std::string> broker_addresses(std::chrono::milliseconds most) const;
    // The latest time of the topic's records, since 1970; nullopt if it has none, or if the brokers
    // cannot say.
    std::optional<std::chrono::milliseconds> latest_timestamp(const std::string& topic) const;

  private:
    rd_kafka_s* client_;
};

}  // namespace onceward
