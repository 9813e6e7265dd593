#pragma once
// A worker: one consumer, one session with PostgreSQL, a reader's and a writer's thread, a short
// queue between them. Workers share nothing. start() and stop() are for one thread; the rest is
// thread-safe. What goes wrong is retried or halts a partition, loudly; only a fatal error of the
// consumer ends the worker: then finished() says so, and the process makes a new one.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "consumer/worker_options.h"
#include "dedup/outcome.h"
#include "dedup/types.h"

namespace onceward {

class Worker {
  public:
    explicit Worker(WorkerOptions options);
    ~Worker();
    void start();
    // Finishes the batch in flight, commits its offsets, leaves the group, joins the threads.
    void stop();
    // The threads have ended by themselves; the reason, or none while the worker works.
    std::optional<std::string> finished() const;

    struct Status {
        // of this process's commits; the fences' totals are the durable ones
        Totals totals;
        std::int64_t below_fence = 0;      // messages that came again and were thrown away
        std::int64_t batches = 0;
        std::size_t partitions = 0;        // assigned
        std::size_t reading = 0;
        bool connected = false;            // to PostgreSQL
        std::vector<std::pair<TopicPartition, std::string>> halted;  // with the reason
    };
    Status status() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace onceward
