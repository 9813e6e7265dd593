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
#include <string_view>

#include "dedup/base/duration_histogram.h"
#include "dedup/base/mutex.h"
#include "dedup/base/step_observer.h"
#include "dedup/fence/fence.h"
#include "dedup/leases/lease_state.h"
#include "dedup/message/message.h"
#include "dedup/message/message_latency.h"
#include "dedup/postgres/error.h"

namespace onceward {

struct TransactionBounds {
    static constexpr std::array<double, 14> seconds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                    0.25,  0.5,    1.0,   2.5,  5.0,   10.0, 60.0};
};
using TransactionTimes = DurationHistogram<TransactionBounds>;

// The parts of a transaction, each from the end of the one before it.
enum class TransactionPart : std::uint8_t {
    fence,   // BEGIN, and the rows of the fences locked and compared
    claims,  // the keys claimed or found
    sink,    // the rows of the fresh messages and of the dead letters
    settle,  // deferred constraints, the fences moved, a log's claims appended
    commit,  // from COMMIT to its answer
};
inline constexpr std::size_t transaction_parts = 5;
std::string_view to_text(TransactionPart part);

// How often the group gave this member partitions or took some, no matter how many.
struct RebalanceCounts {
    std::int64_t assigned = 0;
    std::int64_t revoked = 0;
    std::int64_t lost = 0;  // taken without being asked: the member was expelled
    RebalanceCounts& operator+=(const RebalanceCounts& other);
};

// For a topic with a `lease` ledger.
struct LeaseCounts {
    std::int64_t taken_over = 0;   // keys, from owners whose lease ended without a result
    std::int64_t lost = 0;         // keys that another worker took over
    std::int64_t tried_again = 0;  // tries that did not get through
    LeaseCounts& operator+=(const LeaseCounts& other);
};

// Transactions that were sent in one round trip, each under the presumption that all of its keys
// are new. One whose answer was lost is in neither, and one whose batch was given up is not either.
struct RoundTripCounts {
    std::int64_t landed = 0;
    std::int64_t repeated = 0;  // failed there, and were done step by step
    RoundTripCounts& operator+=(const RoundTripCounts& other);
};

// What a worker has done so far, as numbers that only grow. Plain values.
struct WorkerCounts {
    std::map<std::string, Totals> topics;  // I16: each message in exactly one of them
    std::map<std::string, LeaseCounts> leases;
    std::int64_t below_fence = 0;       // messages that were redelivered and discarded
    std::int64_t batches = 0;           // transactions that were committed
    std::int64_t retries = 0;           // of work that PostgreSQL refused for a passing reason
    std::int64_t reconnects = 0;        // sessions with PostgreSQL after the first one
    std::int64_t offsets_skipped = 0;   // passed without being read, by on_out_of_range
    std::int64_t commits_in_doubt = 0;  // a COMMIT was sent and its answer never came
    std::int64_t rejoins = 0;           // of the group, as partitions had no owner
    RebalanceCounts rebalances;
    RoundTripCounts round_trips;
    TransactionTimes durations;  // of those that were committed, and so are their parts
    std::array<TransactionTimes, transaction_parts> parts;
    std::map<std::string, LatencyHistogram> latencies;  // by topic
    Totals totals() const;
    WorkerCounts& operator+=(const WorkerCounts& other);
};

// The state of the writer at one moment.
struct SessionView {
    bool connected = false;
    // What PostgreSQL last refused, except for a topic's own work, or why it could not be reached;
    // empty once a batch has landed.
    std::string failure;
    // What it last refused for a topic; a topic is removed once a batch of its own has landed.
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
    // PostgreSQL was not reached, or refused; the work is tried again.
    void failed(const std::string& why);
    // `topic`: whose work is tried again; empty if it is the worker's.
    void retried(const std::string& topic, const PostgresError& error);
    void taken(const TopicPartition& partition, Offset fence);
    void moved(const std::string& topic, std::span<const FenceMove> moves);
    // A transaction of the topic was committed, with messages of these ages.
    void aged(const std::string& topic, const LatencyHistogram& latencies);
    void rebalanced(std::int64_t RebalanceCounts::*kind);
    void skipped(std::int64_t offsets);
    // The topic has leases; from here on they are counted.
    void has_leases(const std::string& topic);
    void told(const std::string& topic, LeaseEvent event);
    // The partitions were assigned again: the offsets of their fences are not known.
    void forget(const std::vector<TopicPartition>& partitions);
    // No batch is worked on any more, no matter how it ended.
    void idle();
    void reached(Step step) override;

    SessionView session(Clock::time_point now) const;
    WorkerCounts counts() const;
    // Where the next transaction of the partition begins, as far as this worker knows.
    std::optional<Offset> fence(const TopicPartition& partition) const;

  private:
    void note(Step step);

    StepObserver* next_;
    // The steps of the transaction under way. Only the writer uses them: the steps within it take
    // no lock.
    Clock::time_point last_step_{};
    std::array<std::optional<double>, transaction_parts> took_{};  // seconds
    mutable Mutex mutex_;
    WorkerCounts counts_ ONCEWARD_GUARDED_BY(mutex_);
    SessionView view_ ONCEWARD_GUARDED_BY(mutex_);  // except its transaction
    bool ever_connected_ ONCEWARD_GUARDED_BY(mutex_) = false;
    std::optional<Clock::time_point> begun_ ONCEWARD_GUARDED_BY(mutex_);
    // How the transaction under way is sent.
    enum class Way : std::uint8_t { steps, round_trip };
    Way way_ ONCEWARD_GUARDED_BY(mutex_) = Way::steps;
    std::map<TopicPartition, Offset> fences_ ONCEWARD_GUARDED_BY(mutex_);
};

}  // namespace onceward
