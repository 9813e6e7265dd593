#pragma once
// The state of a worker's session with PostgreSQL and what the worker has done, for observers. The
// writer's thread writes, any thread reads: thread-safe, no I/O. Passes the steps of the
// transaction to the next observer, which outlives it.

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "dedup/base/mutex.h"
#include "dedup/base/step_observer.h"
#include "dedup/fence/fence.h"
#include "dedup/leases/lease_state.h"
#include "dedup/message/message.h"
#include "dedup/postgres/error.h"

namespace onceward {

// What a worker has done so far, as numbers that only grow. Plain values.

// How long the transactions took: how many up to each bound, and their sum.
struct DurationHistogram {
    static constexpr std::array<double, 14> bounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                   0.25,  0.5,    1.0,   2.5,  5.0,   10.0, 60.0};
    std::array<std::int64_t, bounds.size() + 1> counts{};  // the last one: longer than all bounds
    double sum = 0;                                        // seconds
    void observe(double seconds);
    DurationHistogram& operator+=(const DurationHistogram& other);
};

// For a topic with a `lease` ledger.
struct LeaseCounts {
    std::int64_t taken_over = 0;   // keys, from owners whose lease ended without a result
    std::int64_t lost = 0;         // keys that another worker took over
    std::int64_t tried_again = 0;  // tries that did not get through
    LeaseCounts& operator+=(const LeaseCounts& other);
};

struct WorkerCounts {
    std::map<std::string, Totals> topics;  // I16: each message in exactly one of them
    std::map<std::string, LeaseCounts> leases;
    std::int64_t below_fence = 0;       // messages that came again and were thrown away
    std::int64_t batches = 0;           // transactions that were committed
    std::int64_t retries = 0;           // of work that PostgreSQL refused for a passing reason
    std::int64_t reconnects = 0;        // sessions with PostgreSQL after the first one
    std::int64_t offsets_skipped = 0;   // passed without being read, by on_out_of_range
    std::int64_t commits_in_doubt = 0;  // a COMMIT was sent and its answer never came
    std::int64_t rejoins = 0;           // of the group, as partitions had no owner
    DurationHistogram durations;
    Totals totals() const;
    WorkerCounts& operator+=(const WorkerCounts& other);
};

// The state of the writer at one moment.
struct SessionView {
    bool connected = false;
    // What PostgreSQL last refused that is no topic's own, or why it could not be reached; empty
    // once a batch has landed.
    std::string failure;
    // What it last refused of a topic; the topic is missing once a batch of its own has landed.
    std::map<std::string, std::string> topic_failures;
    // How long the open transaction has been running; nullopt if none is open.
    std::optional<std::chrono::milliseconds> transaction;

    // The topic's own failure, or else the worker's.
    const std::string& failure_of(const std::string& topic) const;
};

class WorkerActivity final : public StepObserver {
  public:
    using Clock = std::chrono::steady_clock;
    WorkerActivity(const std::vector<std::string>& topics, StepObserver* next);

    void connected();
    void connection_lost(const PostgresError& error);
    // Not reached, or refused; the work is tried again.
    void failed(const std::string& why);
    // `topic`: whose work is tried again; empty if it is the worker's.
    void retried(const std::string& topic, const PostgresError& error);
    void taken(const TopicPartition& partition, Offset fence);
    void moved(const std::string& topic, std::span<const FenceMove> moves);
    void skipped(std::int64_t offsets);
    // The topic has leases; from here on they are counted.
    void has_leases(const std::string& topic);
    void told(const std::string& topic, LeaseEvent event);
    // They were assigned again: the offsets of their fences are not known.
    void forget(const std::vector<TopicPartition>& partitions);
    // No batch is worked on any more, whatever became of it.
    void idle();
    void reached(Step step) override;

    SessionView session(Clock::time_point now) const;
    WorkerCounts counts() const;
    // Where the next transaction of the partition begins, as far as this worker knows.
    std::optional<Offset> fence(const TopicPartition& partition) const;

  private:
    StepObserver* next_;
    mutable Mutex mutex_;
    WorkerCounts counts_ ONCEWARD_GUARDED_BY(mutex_);
    SessionView view_ ONCEWARD_GUARDED_BY(mutex_);  // but for its transaction
    bool ever_connected_ ONCEWARD_GUARDED_BY(mutex_) = false;
    std::optional<Clock::time_point> begun_ ONCEWARD_GUARDED_BY(mutex_);
    std::map<TopicPartition, Offset> fences_ ONCEWARD_GUARDED_BY(mutex_);
};

}  // namespace onceward
