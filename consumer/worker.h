#pragma once
// A worker: one consumer, one session with PostgreSQL, a reader's and a writer's thread, a short
// queue between them. Workers share nothing. start() and stop() are for one thread; the rest is
// thread-safe. Failures are retried or halt a partition, and are reported; only a fatal error of
// the consumer ends the worker: then finished() says so, and the process makes a new one.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "consumer/partitions/partition_phase.h"
#include "consumer/watch/lag_observer.h"
#include "consumer/watch/memory_suspect.h"
#include "consumer/watch/worker_activity.h"
#include "consumer/writing/worker_options.h"
#include "dedup/base/types.h"
#include "dedup/message/message.h"

namespace onceward {

class Worker {
  public:
    // Makes all that it needs, and throws if it cannot. Joins no group yet.
    explicit Worker(WorkerOptions options);
    ~Worker();
    // Joins the group and begins. Throws if it cannot: the worker cannot be used after that.
    void start();
    // Finishes the batch in flight, commits its offsets, leaves the group, joins the threads.
    void stop();
    // The reason if the threads have ended by themselves; nullopt while the worker works.
    std::optional<std::string> finished() const;

    struct Status {
        // of this process's commits; the fences' totals are the durable ones
        Totals totals;
        WorkerCounts counts;         // the same by topic, and what else is counted
        std::size_t partitions = 0;  // assigned
        std::size_t reading = 0;
        std::vector<HaltedPartition> halted;
        // Partitions that are read, and whose next message waits for its schema; with the reason.
        std::vector<std::pair<TopicPartition, std::string>> awaiting_schema;
        // Partitions that `onceward pause` has paused, which is not a fault; with the reason.
        std::vector<std::pair<TopicPartition, std::string>> paused;
        // For each assigned partition, as of about a second ago.
        std::vector<PartitionStatus> lag;
        // The group has given this member its partitions, which may be none.
        bool joined = false;
        bool connected = false;        // to PostgreSQL, and its schema is the right one
        std::string postgres_failure;  // what PostgreSQL last refused; empty once it continued
        // Since the reader last polled; beyond poll_limit the group expels the member.
        std::chrono::milliseconds since_poll{0};
        std::chrono::milliseconds poll_limit{0};
    };
    Status status() const;
    // What it was most likely fetching when memory ran short; nullopt if nothing.
    std::optional<FetchSuspect> suspect() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace onceward
