#pragma once
// The state of a worker's session with PostgreSQL and what the worker has done, for observers. The
// writer's thread writes, any thread reads: thread-safe, no I/O. Passes the steps of the
// transaction to the next observer, which outlives it.

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "consumer/watch/worker_counts.h"
#include "dedup/base/mutex.h"
#include "dedup/base/step_observer.h"
#include "dedup/fence/fence.h"
#include "dedup/leases/lease_state.h"
#include "dedup/postgres/error.h"

namespace onceward {

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
    bool connected_ ONCEWARD_GUARDED_BY(mutex_) = false;
    bool ever_connected_ ONCEWARD_GUARDED_BY(mutex_) = false;
    std::string failure_ ONCEWARD_GUARDED_BY(mutex_);
    std::map<std::string, std::string> topic_failures_ ONCEWARD_GUARDED_BY(mutex_);
    std::optional<Clock::time_point> begun_ ONCEWARD_GUARDED_BY(mutex_);
    std::map<TopicPartition, Offset> fences_ ONCEWARD_GUARDED_BY(mutex_);
};

}  // namespace onceward
