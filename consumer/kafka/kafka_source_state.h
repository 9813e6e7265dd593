#pragma once
// The inside of KafkaSource, shared by its .cc files. Include it there only.

#include <atomic>
#include <unordered_map>

#include "consumer/kafka/kafka_requests.h"
#include "consumer/kafka/kafka_source.h"

namespace onceward {

// The group as the brokers describe it, asked without ever waiting. Used by the reader's thread.
class GroupQuestion {
  public:
    // Does nothing while an earlier question is open.
    void ask(rd_kafka_t* client, const std::string& group, const std::vector<const char*>& topics);
    // The answer, once; nullopt if it has not arrived yet, or was an error.
    std::optional<GroupSight> told(rd_kafka_t* client);

  private:
    KafkaQueue answers_;
    int answers_due_ = 0;
    bool failed_ = false;
    GroupSight sight_;  // what the answers have said so far
};

// The member's id in its group; empty if it is in none.
std::string member_id(rd_kafka_t* client);

// Where the logs end, asked without ever waiting: for lag, not for retention. Used by the reader's
// thread.
class LogEnds {
  public:
    // One request for each broker.
    void ask(rd_kafka_t* client, const std::vector<TopicPartition>& partitions);
    // What was answered since the last call.
    std::map<TopicPartition, Offset> told();

  private:
    KafkaQueue answers_;
};

struct KafkaSource::State {
    // The offset that reading of a partition has reached: the next span begins there.
    struct Position {
        Offset offset;
        KafkaQueue queue;  // the partition's own; unread until begin()
        bool open = false;
        bool stopped = false;  // librdkafka gave up fetching: out of range
        int failed_seeks = 0;  // in a row
        // librdkafka does not ask for the end of the log any more: see knows_position()
        bool settled = false;

        // read() takes nothing more of it until begin().
        void close() {
            open = false;
            rd_kafka_queue_forward(queue.get(), nullptr);
        }
    };
    struct Topic {
        std::string name;
        KafkaQueue queue;  // where the open partitions' queues are forwarded to
        std::unordered_map<Partition, Position> positions;
    };

    SourceListener& listener;
    std::string bootstrap_servers;
    std::string group;
    ClientCallbacks callbacks;  // librdkafka's opaque pointer leads here
    std::optional<KafkaError> refusal;
    std::vector<Topic> topics;
    LogEnds ends;
    GroupQuestion group_question;
    // Set while the member leaves the group: it joins again when it has left, or at this time.
    std::optional<std::chrono::steady_clock::time_point> rejoin_by;
    int wake_read = -1;
    int wake_write = -1;
    std::atomic<std::int64_t> below_fence{0};
    bool closed = false;
    std::optional<KafkaError> failed;  // in the rebalance callback; serve() throws it
    // For questions that wait for an answer; null without topics. It fetches nothing. Brokers
    // answer the requests of one connection in turn: after a fetch that was held open at a log's
    // end each question took 100 ms, and the first start over 500 partitions took a minute.
    KafkaClient asking;
    KafkaClient client;  // after the queues in destruction order: see ~KafkaSource()

    explicit State(SourceListener& to) : listener(to) {}
    // Both are null if the member does not have them.
    std::pair<Topic*, Position*> find(const TopicPartition& partition);
    std::optional<Offset> fetched_end(const TopicPartition& partition) const;
    bool cooperative() const;
    void rebalance(rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t* partitions);
    void assign(rd_kafka_topic_partition_list_t* partitions);
    // Reports as lost what is still held when an assignment replaces everything.
    void give_back_all();
    void resolve_ends(rd_kafka_topic_partition_list_t* partitions) const;
    // Takes what is in the partition's own queue. REQUIRES: nothing of it is wanted.
    bool knows_position(const std::string& topic, const Position& position);
    void revoke(rd_kafka_topic_partition_list_t* partitions);
    void restart(const TopicPartition& partition);
    void take_message(Topic& topic, KafkaMessage message, MessageBuilder& intake, Chunk& chunk);
    void stop_reading(const TopicPartition& partition, Position& position,
                      const rd_kafka_message_t& error);
    void stop_before(const AwaitedRecord& record, Position& position) const;
    void park(const TopicPartition& partition) const;
    void join_again();
    void subscribe() const;
    void take_error(const std::string& topic, const rd_kafka_message_t& message);
};

}  // namespace onceward
