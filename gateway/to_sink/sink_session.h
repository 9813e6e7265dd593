#pragma once
// A route's session with PostgreSQL, and its way through a batch. It tries a batch again after a
// passing failure, on a new session after a lost one, without the requests that are refused, and in
// halves if a request waits for another process or a lock, or all of them are too slow together.
// Used by one thread. Exceptions other than PostgresError and SinkMismatch are passed on: a schema
// of another version, a ledger with another store.

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "dedup/claims/log/log_window.h"
#include "dedup/ledger/ledger.h"
#include "dedup/policy/failure.h"
#include "dedup/server/server_session.h"
#include "dedup/sink/message_result.h"
#include "gateway/to_sink/sink_transaction.h"

namespace onceward {

// A sink, and the function that makes its messages from records: the gateway knows no decoder.
struct SinkIntake {
    std::unique_ptr<Sink> sink;
    // Adds the record's message to the chunk, with the given key, encoded or rejected.
    std::function<void(Record, const MessageKey&, Chunk&)> take;
};

// The ledger's reach is global.
struct SinkBatcherOptions : KeyedRouteOptions {
    // A request that is not carried out within this time is answered with 503. Claims are kept
    // longer by the same time.
    std::chrono::milliseconds longest_request{30'000};
    // Most bytes of answers that are remembered for repeats, so that they are not read each time.
    // They are used after the claims said `duplicate`, and only while the database has them.
    std::size_t cache_bytes = 4 * 1024 * 1024;
    // The most requests in a transaction; more hold more locks. It takes fewer if they are slow.
    std::size_t batch = 500;
    std::shared_ptr<LogWindows> log_windows{};  // the process's
    // Made in the batcher's thread, and used there.
    std::function<SinkIntake()> intake{};
    // Called when a batch ran into statement_timeout.
    std::function<void()> timed_out = {};
    // Set by the batcher itself: see SinkTransaction::Parts.
    std::function<void(std::span<const Digest>)> originals = {};
};

// The time from a request's arrival to the last check of its claims. The watermark of the route's
// feed is the clock minus this time.
std::chrono::milliseconds longest_request(const SinkBatcherOptions& options);

// A request that waits for its batch, or is in one.
struct WaitingRequest : RequestInBatch {
    std::chrono::steady_clock::time_point deadline;
    // Until then it waits for another process that works on its key; not after the deadline.
    std::chrono::steady_clock::time_point wait_until{};
    // Belongs to the batcher between two batches, and to the session within one. held: another
    // process works on its key, or did so just now; or it is `locked_out`.
    RequestState state = RequestState::queued;
    bool locked_out = false;  // the sink waits for a lock that another session has
    std::chrono::steady_clock::time_point held_until() const {
        return locked_out ? deadline : wait_until;
    }
};

class SinkSession {
  public:
    // How long claims wait for another process's claim after one of the batch had to wait: until
    // the waiting request is isolated, and in its further tries. The same for the locks of a sink.
    static constexpr std::chrono::milliseconds short_patience{10};

    // The options outlive it. After a stop request, what is not in a transaction is given up.
    SinkSession(const SinkBatcherOptions& options, std::stop_token stop);

    // Decides each of them, except those that are `held` and may wait longer: pass these again.
    void carry_out(const std::vector<WaitingRequest*>& requests);
    // What became of these keys, as far as it is committed; nullopt if PostgreSQL does not answer.
    std::optional<std::vector<StatusOutcome>> look(std::span<const Digest> keys);

  private:
    enum class Step : std::uint8_t { next, again };
    // What is still to be tried, in order; the front is the next transaction.
    using Parts = std::deque<std::vector<WaitingRequest*>>;
    Record record_of(KeyedRequest& request);
    bool decode(WaitingRequest& waiting);
    void give_up_overdue(std::vector<WaitingRequest*>& part) const;
    Step attempt(Parts& parts);
    Step failed(const PostgresError& error, Parts& parts);
    bool begin_search(const Parts& parts);
    Step search(Parts& parts);
    void refuse(WaitingRequest& waiting, const Refusal& refusal) const;
    void report_stopped(const std::vector<Refusal>& refusals) const;
    Step too_slow(Parts& parts);
    Step locked_out(Parts& parts);
    Step held_up(Parts& parts, bool by_lock);
    static bool halve(Parts& parts);
    std::optional<Step> reconsidered();
    Step reject(const PostgresError& error, Parts& parts);
    Step stopped(const std::string& why, Parts& parts);
    Step mismatched(const std::string& why, Parts& parts);
    void set_up(Connection& connection);

    const SinkBatcherOptions& options_;
    std::stop_token stop_;
    SinkIntake intake_;
    RegisteredLedger registered_;
    std::unique_ptr<ClaimStore> claims_;  // of that ledger, like the results
    std::unique_ptr<ResultStore> results_;
    std::unique_ptr<SinkTransaction> transaction_;
    ServerSession session_;
    std::int64_t sequence_;
    FailureSeries failures_;
    // For another's claim, and for a lock if the waits for locks are limited.
    std::chrono::milliseconds patience_{0};
    bool limits_locks_ = false;
    std::chrono::steady_clock::time_point locks_limited_until_{};
    RefusalSearch search_;
    bool searching_ = false;  // the next attempt searches for what the sink refuses
    bool refused_ = false;    // the sink refused the first part as a batch
};

}  // namespace onceward
