#pragma once
// The reader's thread: polls Kafka, seeks to the fences, and hands chunks of messages to the
// writer. run() shows the order of its steps. It never waits for PostgreSQL. run() is for one
// thread; the const methods and source() are thread-safe. Owns the Kafka consumer; borrows the
// rest.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "consumer/kafka/group_observer.h"
#include "consumer/kafka/kafka_source.h"
#include "consumer/partitions/handoff.h"
#include "consumer/partitions/schema_waits.h"
#include "consumer/registry/schema_cache.h"
#include "consumer/watch/lag_observer.h"
#include "consumer/watch/memory_suspect.h"
#include "consumer/watch/worker_activity.h"
#include "consumer/writing/writer_session.h"
#include "dedup/base/mutex.h"
#include "dedup/message/batch.h"

namespace onceward {

// How many records a reader takes at once. A chunk is never larger than a batch, so that the
// batch's limits hold; its size in bytes is estimated from the records before it. A plain value for
// each topic, used by the reader's thread only.
class ReadSize {
  public:
    explicit ReadSize(const BatchLimits& batch);
    std::size_t next() const;
    void took(const Chunk& chunk);

  private:
    std::size_t messages_;
    std::size_t bytes_;
    std::size_t record_bytes_;
};

class Reader final : private SourceListener {
  public:
    using Clock = std::chrono::steady_clock;

    // `parts`: one for each topic of the options, in their order.
    Reader(const WorkerOptions& options, Handoff& handoff, WorkerActivity& activity,
           const std::vector<TopicParts>& parts);
    // Joins the group, before run(). Throws KafkaError.
    void join();
    // Returns when `stop` is true. Throws a KafkaError if the consumer must be recreated.
    void run(const std::atomic<bool>& stop);
    // Leaves the group and gives back every partition; also after run() has thrown.
    void close();

    KafkaSource& source() { return source_; }
    // The group has given this member its partitions, which may be none.
    bool joined() const { return joined_; }
    Clock::time_point last_poll() const { return last_poll_; }
    std::int64_t below_fence() const { return source_.below_fence(); }
    std::int64_t rejoins() const { return group_ ? group_->rejoins() : 0; }
    std::vector<PartitionStatus> lag() const { return lag_.statuses(); }
    // What it was most likely fetching when memory ran short; nullopt if nothing.
    std::optional<FetchSuspect> suspect() const;

  private:
    void find_brokers();
    void seek_to_fences();
    void stop_fetching();
    // Returns whether anything was read.
    bool read_topics();
    void note(const std::string& topic, const Chunk& chunk);
    void report_unreadable();
    // Continues at the messages whose schemas have become known.
    void resume_awaited();
    bool resume(const AwaitedRecord& record);

    void assigned(const std::vector<TopicPartition>& partitions) override;
    void revoked(const std::vector<TopicPartition>& partitions, bool lost) override;
    void out_of_range(const TopicPartition& partition) override;
    void unreadable(const UnreadableRecords& records) override;
    void awaits_schema(const AwaitedRecord& record) override;
    void partition_failed(const TopicPartition& partition, int code,
                          const std::string& reason) override;

    struct Topic {
        const std::string& name;
        MessageBuilder& builder;
        ReadSize size;
        SchemaCache* schemas;  // null: nothing is awaited
    };
    Topic& topic(const std::string& name);

    const WorkerOptions& options_;
    Handoff& handoff_;
    WorkerActivity& activity_;
    std::vector<Topic> topics_;
    KafkaSource source_;
    LagObserver lag_;
    std::optional<GroupObserver> group_;                 // for static members
    std::vector<UnreadableRecords> unreadable_records_;  // reported by the read() under way
    SchemaWaits schema_waits_;
    std::vector<std::unique_ptr<SchemaCache::Listener>> schema_news_;  // wakes the reader
    Clock::time_point next_bootstrap_;
    std::atomic<bool> joined_{false};
    std::atomic<Clock::time_point> last_poll_{Clock::now()};
    mutable Mutex mutex_;
    MemorySuspect suspect_ ONCEWARD_GUARDED_BY(mutex_){Clock::now()};
};

}  // namespace onceward
