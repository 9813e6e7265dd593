#pragma once
// THE transaction: fence, claims, sink, dead letters, settle, COMMIT, in this order and nowhere
// else. One object for each worker and topic, used by the writer's thread. Borrows its parts, which
// outlive it. Throws ProcessingError for what is not a message's fault, TopicHalted where the
// topic's policy asks for it, MessageWaits where it is to be tried again; after any of them the run
// can be resumed on a healthy connection, or thrown away and read again.

#include <deque>
#include <functional>
#include <memory_resource>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "dedup/batch.h"
#include "dedup/claims/claim_store.h"
#include "dedup/claims/fold.h"
#include "dedup/failure.h"
#include "dedup/fence.h"
#include "dedup/rejection_window.h"
#include "dedup/retries.h"
#include "dedup/sink.h"
#include "dedup/sorted_slice.h"
#include "dedup/steps.h"

namespace onceward {

// The topic stops here until an operator has looked: `on_reject: halt`, or too large a share of
// rejects.
class TopicHalted : public std::runtime_error {
  public:
    TopicHalted(Partition where, Offset at, const std::string& reason)
        : std::runtime_error(reason), partition(where), offset(at) {}
    Partition partition;
    Offset offset;
};

// A message was refused for a reason that may pass: its partition is to be read again from the
// fence when the pause is over. The rest of the batch goes on once abandon() has taken the
// partition out.
class MessageWaits : public std::runtime_error {
  public:
    MessageWaits(const Record& record, int tried_again, std::chrono::milliseconds how_long,
                 const std::string& reason)
        : std::runtime_error(reason),
          partition(record.partition),
          offset(record.offset),
          tried(tried_again),
          pause(how_long) {}
    Partition partition;
    Offset offset;
    int tried;
    std::chrono::milliseconds pause;  // not yet jittered
};

// A PostgresError with what failure.h makes of it: retry, reconnect or stop.
class ProcessingError : public PostgresError {
  public:
    ProcessingError(const PostgresError& error, FailureAction what)
        : PostgresError(error), action(what) {}
    FailureAction action;
};

class Processor {
  public:
    struct Parts {
        Fences& fences;
        // null only in the bench's dedup-off setting: then every message is fresh
        ClaimStore* claims;
        Sink& sink;
        Sink& dead_letters;
        StepObserver* observer = nullptr;
        // Asked before each transaction: the partitions that had to be given back by now. What is
        // left of them is thrown away, so that a batch in many parts holds nobody up.
        std::function<std::set<Partition>()> overdue = {};
        // Does for a fresh message what the reader deferred: called in this thread, in a
        // transaction. It clears Message::deferred, and may set a rejection or skip the message.
        std::function<void(Message&, std::pmr::memory_resource&)> finish = {};
    };
    // Called after each COMMIT whose answer came, with what it moved.
    using Committed = std::function<void(std::span<const FenceMove>)>;

    Processor(BatchContext context, RejectPolicy policy, Parts parts, Committed committed);

    // Takes a batch to work on. REQUIRES: idle().
    void start(Batch batch);
    bool idle() const { return pending_.empty(); }
    // Works until all of the batch is committed or its partitions were missed. Answers with the
    // partitions whose fence was not mine or stood elsewhere: nothing of them landed since, their
    // fence must be taken again.
    std::set<Partition> run(Connection& connection);
    // Throws away what is left of the batch: it is read again from the fence.
    void abandon();
    // Takes these partitions out of what is left; they were revoked.
    void abandon(const std::set<Partition>& partitions);
    // The place of the first message that is still open, for logs.
    std::optional<std::pair<Partition, Offset>> position() const;
    RejectionWindow& rejections() { return rejections_; }

  private:
    // cut: in two parts at cut_at_
    enum class Attempt : std::uint8_t { committed, missed, cut, again };
    Attempt attempt(Connection& connection, const Slice& slice, std::set<Partition>& missed);
    SortedSlice sort_out(Transaction& transaction, const Slice& slice, const FoldedClaims* folded);
    bool halts_later(const Slice& slice);
    void check_cap(const Slice& slice, const SortedSlice& sorted);
    void write(Transaction& transaction, SortedSlice& sorted);
    bool advance(Transaction& transaction, const SortedSlice& sorted);
    void find_places(Transaction& transaction, SortedSlice& sorted);
    void tell(const SortedSlice& sorted) const;
    Slice take_front();
    void put_back(Halves halves);
    bool met_a_duplicate(Connection& connection);
    bool too_slow(const PostgresError& error);
    void split(const PostgresError& error);
    void reject(Message& message, const PostgresError& error);
    void set_apart_waiting();
    void remove(Slice& slice, const std::set<Partition>& partitions) const;

    BatchContext context_;
    RejectPolicy policy_;
    Parts parts_;
    Committed committed_;
    RejectionWindow rejections_;
    Retries retries_;
    std::pmr::monotonic_buffer_resource finished_;  // what deferred messages of the batch became
    Batch batch_;                                   // owns what pending_ points to
    std::deque<Slice> pending_;                     // in order; the front is the next transaction
    std::size_t cut_at_ = 0;
    int failing_slices_ = 0;
    // of the failure before, for codes that are only worth a few tries
    std::string last_sqlstate_;
    int repeated_ = 0;
    Origin origin_ = Origin::ours;  // whose statement is running
};

}  // namespace onceward
