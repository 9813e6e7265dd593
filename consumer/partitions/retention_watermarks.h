#pragma once
// Takes and writes the watermarks of the partitions whose fence this worker holds, between two
// batches and never during one. Used by the writer's thread only. A failed sample only costs time:
// claims are kept longer.

#include <chrono>
#include <map>

#include "consumer/kafka/kafka_source.h"
#include "consumer/partitions/handoff.h"
#include "consumer/partitions/question_pauses.h"
#include "dedup/fence/fence.h"
#include "dedup/retention/watermark.h"

namespace onceward {

class RetentionWatermarks {
  public:
    RetentionWatermarks(std::string consumer_group, std::chrono::milliseconds every);
    void taken(const TopicPartition& partition, int ledger, const FenceState& fence);
    void moved(const std::string& topic, std::span<const FenceMove> moves);
    void identity(const std::string& topic, const LogIdentity& identity);
    void forget() { partitions_.clear(); }
    struct OtherLog {
        std::string topic;
        LogIdentity identity;
    };
    struct Found {
        std::optional<OtherLog> other_log;  // a topic's name has come to mean another log
        // its fence is not mine, or has another offset: moved by hand, or stolen
        std::optional<TopicPartition> missed;
        // The brokers were asked how many partitions a topic has.
        struct Listed {
            std::string topic;
            int partitions = 0;
        };
        std::optional<Listed> listed;
        // The brokers were asked and have answered; another partition may be due.
        bool answered = false;
    };
    // Takes one sample at most, of each partition in turn, and writes the watermarks that are due.
    // An idle worker learns here that its fence was moved.
    Found tick(Connection& connection, Handoff& handoff, KafkaSource& source, Fences& fences);

  private:
    using Clock = std::chrono::steady_clock;
    struct Entry {
        WatermarkSampler sampler;
        Offset fence;
        int ledger = 0;
    };
    void sample(Connection& connection, KafkaSource& source, const TopicPartition& partition,
                Entry& entry);
    // Returns false if the fence was missed.
    bool write(Connection& connection, Handoff& handoff, Fences& fences,
               const TopicPartition& partition, Entry& entry);
    // The number of partitions; nullopt if the topic's name has come to mean another log.
    std::optional<int> list_partitions(Connection& connection, KafkaSource& source,
                                       const std::string& topic, int ledger);

    std::string consumer_group_;
    std::chrono::milliseconds every_;
    std::map<TopicPartition, Entry> partitions_;
    std::map<std::string, LogIdentity> identities_;
    std::map<std::string, Clock::time_point> next_list_;
    QuestionPauses pauses_;
    TopicPartition asked_last_{};
};

}  // namespace onceward
