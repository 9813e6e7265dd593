#pragma once
// A member of a consumer group that reads each partition from the offset of its fence. One thread,
// the reader's, calls serve(), wait(), begin(), read() and close(); the other methods are
// thread-safe. Owns the librdkafka consumer. Problems of one partition go to the listener. serve()
// throws KafkaError if the consumer itself is unusable (a fatal error) and must be recreated.

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "consumer/intake/message_builder.h"
#include "consumer/kafka/broker_queries.h"
#include "consumer/kafka/kafka_error.h"
#include "consumer/kafka/kafka_options.h"
#include "dedup/fence/fence.h"
#include "dedup/message/message.h"

namespace onceward {

// Records that the client cannot decode. Reading of the partition stopped before them.
struct UnreadableRecords {
    TopicPartition partition;
    Offset position;  // what was to be read next
    std::string reason;
};

// A record whose schema is not known yet. Reading of the partition stopped before it.
struct AwaitedRecord {
    TopicPartition partition;
    Offset position;
    LeaderEpoch leader_epoch;  // the record's own
    AwaitedSchema schema;
};

// Called from inside serve(), read() and close(), on the reader's thread.
class SourceListener {
  public:
    virtual ~SourceListener() = default;
    // Must not wait for PostgreSQL: the group waits for this call.
    virtual void assigned(const std::vector<TopicPartition>& partitions) = 0;
    // The partitions leave when this returns; it may wait some seconds for the batch in flight.
    // `lost`: they have another owner already.
    virtual void revoked(const std::vector<TopicPartition>& partitions, bool lost) = 0;
    // The log does not hold the offset that was asked for (auto.offset.reset=error).
    virtual void out_of_range(const TopicPartition& partition) = 0;
    // Called from read(): the messages before these are in the chunk that it returns. Nothing more
    // of the partition is read until begin().
    virtual void unreadable(const UnreadableRecords& records) = 0;
    // The same for a record whose schema is not known yet.
    virtual void awaits_schema(const AwaitedRecord& record) = 0;
    virtual void partition_failed(const TopicPartition& partition, int code,
                                  const std::string& reason) = 0;
};

// For a source that nothing is assigned to, such as one without topics.
struct SilentListener final : SourceListener {
    void assigned(const std::vector<TopicPartition>&) override {}
    void revoked(const std::vector<TopicPartition>&, bool) override {}
    void out_of_range(const TopicPartition&) override {}
    void unreadable(const UnreadableRecords&) override {}
    void awaits_schema(const AwaitedRecord&) override {}
    void partition_failed(const TopicPartition&, int, const std::string&) override {}
};

struct CommittedOffset {
    TopicPartition partition;
    Offset offset;
    LeaderEpoch leader_epoch{-1};
    std::string incarnation;  // of the fence; travels as the metadata `onceward:<incarnation>`
};

// What a member sees of its group in one check.
struct GroupSight {
    bool settled = false;  // the group is Stable, and this client is a member of it
    std::map<std::string, int> partitions;  // how many each of the member's topics has
    std::set<TopicPartition> owned;         // by any member
};

class KafkaSource {
  public:
    // Joins no group yet. Without topics it can only be used for questions.
    KafkaSource(const KafkaOptions& options, int worker, std::vector<std::string> topics,
                SourceListener& listener);
    ~KafkaSource();
    // Joins the group, once, in the background. From then on serve() has to be called.
    // REQUIRES: topics. Throws KafkaError.
    void join();

    // Serves the group's events without blocking; keeps the member alive. Throws KafkaError if an
    // error is fatal.
    void serve();
    // The last failure that serve() met and that lasts even if the brokers return: a refused login,
    // TLS that fails. nullopt if there is none.
    std::optional<KafkaError> refusal() const;
    // For a consumer that has been in no group for a long time, and after a failed question. From
    // any thread. DANGER: if a broker that shuts down answers with an empty list of brokers,
    // librdkafka forgets every broker that it knows and never asks the bootstrap servers again
    // (seen with 2.14.2, its issue 5301), and the worker would hang for ever. Each of the two
    // clients can forget them while the other does not. A known server is not added again.
    void bootstrap_again();
    // Waits until there may be something to serve or to read, or wake() was called.
    void wait(std::chrono::milliseconds timeout);
    void wake();
    // Seeks to the fence and opens the partition for read(). Returns false if that is not possible
    // yet: ask again.
    bool begin(const TopicPartition& partition, Offset offset, LeaderEpoch leader_epoch);
    // Closes the partition again; what was fetched is discarded.
    void end(const TopicPartition& partition);
    // Takes up to `messages` fetched messages of the topic, through `intake`, into a chunk, with
    // their spans. If it has no messages and no spans, there was nothing.
    Chunk read(std::size_t topic_index, std::size_t messages, MessageBuilder& intake);
    // Messages that were delivered below the requested position; they are not passed on.
    std::int64_t below_fence() const;
    // Leaves the group; revoked() is called for the partitions that are left.
    void close();

    // Commits offsets, which are advisory: for lag dashboards. Never before the transaction that
    // covers them. `wait`: for the answer.
    void commit_through(std::span<const CommittedOffset> offsets, bool wait);

    // The questions that wait for the brokers.
    BrokerQueries queries() const;

    // Does not wait. The end of the log as the last fetch reported it.
    std::optional<Offset> fetched_end(const TopicPartition& partition) const;
    // Does not wait; for the reader's thread only. The offset that reading has reached, while the
    // partition is open.
    std::optional<Offset> position(const TopicPartition& partition) const;
    // Asks the brokers, one request for each of them; told_ends() returns the answers so far.
    void ask_for_ends(const std::vector<TopicPartition>& partitions);
    std::map<TopicPartition, Offset> told_ends();

    // For the reader's thread alone, and without waiting. Asks the brokers who owns the topics'
    // partitions, unless an earlier question is still open; told_group() has the answer once.
    void ask_for_group();
    std::optional<GroupSight> told_group();
    // For the reader's thread alone. Leaves the group and joins it again, from serve(); revoked()
    // is called for all that the member has. This is a rebalance, even in a Stable group of static
    // members.
    void rejoin();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// The metadata of a committed offset that marks it as ours.
std::string offset_mark(const std::string& incarnation);
bool is_our_mark(const std::string& metadata);

}  // namespace onceward
