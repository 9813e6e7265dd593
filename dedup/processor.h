#pragma once
// THE transaction: fence, claims, sink, dead letters, settle, COMMIT, in this order and nowhere
// else. dedup/at_once.h sends the same for a few fresh messages in one round trip. One object for
// each worker and topic, used by the writer's thread. Borrows its parts, which outlive it.
// dedup/policy/batch_processor.h says what it throws.

#include <chrono>
#include <deque>
#include <functional>
#include <limits>
#include <memory_resource>
#include <set>
#include <vector>

#include "dedup/at_once.h"
#include "dedup/base/step_observer.h"
#include "dedup/claims/claim_store.h"
#include "dedup/claims/distinct_claims.h"
#include "dedup/fence/fence.h"
#include "dedup/message/message_latency.h"
#include "dedup/policy/batch_processor.h"
#include "dedup/policy/failure.h"
#include "dedup/policy/hot_keys.h"
#include "dedup/policy/refusal_search.h"
#include "dedup/policy/slice_log.h"
#include "dedup/policy/slice_outcomes.h"
#include "dedup/policy/topic_policy.h"
#include "dedup/results/result_replay.h"
#include "dedup/sink/sink.h"
#include "dedup/trace/batch_trace.h"

namespace onceward {

class Processor final : public BatchProcessor {
  public:
    struct Parts {
        Fences& fences;
        // null only in the bench's dedup-off setting: then every message is fresh
        ClaimStore* claims;
        Sink& sink;
        Sink& dead_letters;
        StepObserver* observer = nullptr;
        // Called before each transaction: returns the partitions that should have been given back
        // by now. What is left of them is discarded, so that a batch in many parts delays no other.
        std::function<std::set<Partition>()> overdue = {};
        // Does for a fresh message what the reader deferred: called in this thread, in a
        // transaction. It clears Message::deferred, and may set a rejection or skip the message.
        std::function<void(Message&, std::pmr::memory_resource&)> finish = {};
        // Null if the topic stores no results: then they cost nothing.
        ResultReplay* answers = nullptr;
        Tracer* tracer = nullptr;  // null: traces are off
        // Called after each COMMIT whose answer came, with how old its messages were. Empty: their
        // age is not calculated.
        std::function<void(const LatencyHistogram&)> aged = {};
    };
    // Called after each COMMIT whose answer came, with what it moved.
    using Committed = std::function<void(std::span<const FenceMove>)>;

    Processor(BatchContext context, RejectPolicy policy, Parts parts, Committed committed);

    void start(Batch batch) override;
    bool idle() const override { return pending_.empty(); }
    std::set<Partition> run(Connection& connection) override;
    void abandon() override;
    void abandon(const std::set<Partition>& partitions) override;
    bool ends_while_leaving() const override { return false; }

  private:
    // cut: in two parts at cut_at_. searched: rolled back; refusals_ holds what was found.
    enum class Attempt : std::uint8_t { committed, missed, cut, again, searched };
    Attempt try_front(Connection& connection, std::set<Partition>& missed);
    Attempt attempt(Connection& connection, const Slice& slice, std::set<Partition>& missed);
    std::optional<SliceOutcomes> land_at_once(Connection& connection, const Slice& slice);
    void landed(Connection& connection, const Slice& slice, const SliceOutcomes& sorted,
                std::chrono::steady_clock::time_point begun);
    SliceOutcomes sort_out(Transaction& transaction, const Slice& slice,
                           const DistinctClaims* folded);
    bool halts_later(const Slice& slice);
    void check_cap(const Slice& slice, const SliceOutcomes& sorted);
    void write(Transaction& transaction, SliceOutcomes& sorted);
    void search(Transaction& transaction, const SliceOutcomes& sorted);
    bool advance(Transaction& transaction, const SliceOutcomes& sorted);
    Settlement settle(Transaction& transaction);
    void find_places(Transaction& transaction, SliceOutcomes& sorted);
    void reached(Step step) {
        onceward::reached(parts_.observer, step);
        trace_.reached(step);
    }
    void trace_ends(const Slice& slice, const SliceOutcomes& sorted);
    Slice take_front();
    void put_back(Halves halves);
    bool met_a_duplicate(Connection& connection);
    bool too_much(const PostgresError& error);
    bool begin_search();
    void failed(const PostgresError& error, Connection& connection);
    void refuse(Connection& connection);
    void reject_alone(const PostgresError& error);
    void reject(Message& message, const Refusal& refusal);
    void set_apart(const Message* message);
    void cut_to_size();
    void took(std::size_t messages, std::chrono::steady_clock::duration time,
              std::chrono::milliseconds limit);
    void set_apart_waiting();

    BatchContext context_;
    RejectPolicy policy_;
    Parts parts_;
    Committed committed_;
    RejectionWindow rejections_;
    HotKeys hot_keys_;
    SliceLog log_;
    BatchTrace trace_;
    std::optional<AtOnce> at_once_;
    MessageRetries retries_;
    std::pmr::monotonic_buffer_resource finished_;  // what deferred messages of the batch became
    Batch batch_;                                   // owns what pending_ points to
    std::deque<Slice> pending_;                     // in order; the front is the next transaction
    std::size_t cut_at_ = 0;
    RefusalSearch search_;
    bool searching_ = false;  // the next attempt searches for what the sink refuses
    std::vector<Refusal> refusals_;
    // The most messages of a transaction, while larger ones run into statement_timeout.
    std::size_t most_ = std::numeric_limits<std::size_t>::max();
    int failing_slices_ = 0;
    // How often the last SQLSTATE came in a row: some codes are only worth a few tries.
    FailureSeries failures_;
    Origin origin_ = Origin::ours;  // whose statement is running
};

}  // namespace onceward
