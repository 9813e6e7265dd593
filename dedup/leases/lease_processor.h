#pragma once
// Processor's counterpart for a ledger with `store: lease`. One transaction claims keys under a
// lease; it locks and checks the fence without moving it. Then the effects outside PostgreSQL run.
// A later transaction writes down how they ended, and moves the fence over the leading messages
// that have ended. One object for each worker and topic, used by the writer's thread; borrows its
// parts. dedup/policy/batch_processor.h says what it throws. In any case, an effect that was begun
// is in flight in the ledger until its lease ends.

#include <functional>
#include <map>
#include <memory_resource>
#include <optional>
#include <vector>

#include "dedup/base/step_observer.h"
#include "dedup/leases/lease_state.h"
#include "dedup/leases/leases.h"
#include "dedup/message/message_latency.h"
#include "dedup/policy/batch_processor.h"
#include "dedup/policy/failure.h"
#include "dedup/policy/topic_policy.h"
#include "dedup/results/result_replay.h"
#include "dedup/sink/effects.h"
#include "dedup/trace/batch_trace.h"

namespace onceward {

class LeaseProcessor final : public BatchProcessor {
  public:
    struct Parts {
        Fences& fences;
        Effects& effects;
        Sink& dead_letters;
        StepObserver* observer = nullptr;
        // As Processor's.
        std::function<std::set<Partition>()> overdue = {};
        std::function<void(Message&, std::pmr::memory_resource&)> finish = {};
        // Partitions that are to be given back: nothing more is begun for them.
        std::function<std::set<Partition>()> leaving = {};
        EffectRetries retries = {};
        // Keeps the answers to effects as a sink's results are kept, and replays them to
        // duplicates. Null: answers are not kept.
        ResultReplay* answers = nullptr;
        // Called for each event.
        std::function<void(LeaseEvent)> tell = {};
        Tracer* tracer = nullptr;  // null: traces are off
        std::function<void(const LatencyHistogram&)> aged = {};  // as Processor's
    };
    using Committed = std::function<void(std::span<const FenceMove>)>;

    LeaseProcessor(BatchContext context, RejectPolicy policy, Leases leases, Parts parts,
                   Committed committed);
    ~LeaseProcessor() override;

    void start(Batch batch) override;
    bool idle() const override { return prefixes_.empty(); }
    std::set<Partition> run(Connection& connection) override;
    void abandon() override;
    void abandon(const std::set<Partition>& partitions) override;
    bool ends_while_leaving() const override { return true; }

  private:
    using Clock = std::chrono::steady_clock;
    struct Item {
        Message* message = nullptr;
        std::uint64_t number = 0;
        LeaseState state = LeaseState::open;
        int attempts = 0;                // as the ledger counts them
        int tries = 0;                   // repeats, in this lease
        Clock::time_point not_before{};  // while it pauses
        Clock::time_point held_until{};  // by my clock, from before the ledger was asked
        std::optional<MessageEnd> ending{};
        EffectOutcome outcome{};
        std::optional<EarlierClaim> earlier{};

        Partition partition() const { return message->record.partition; }
        Offset offset() const { return message->record.offset; }
    };
    // Why a partition must wait.
    struct Wait {
        Offset offset;
        int tried = 0;
        std::chrono::milliseconds pause{0};
        std::string reason;
    };
    // What one transaction writes down.
    struct Ends {
        std::vector<FenceMove> moves;
        std::vector<Item*> ended;
        std::vector<LeaseEnd> rows;  // of `ended`, in its order
        std::vector<const Message*> letters;
        std::vector<Digest> counted;
        std::vector<const Message*> duplicates;
        std::vector<const Item*> passing;
        bool empty() const { return moves.empty() && ended.empty(); }
    };

    Item& item_at(Partition partition, Offset offset);
    bool stands(Partition partition) const;
    bool quiet(Partition partition) const;
    // Changes an item's state. Returns false, and logs it, if the step must never come there.
    bool change(Item& item, LeaseStep step) const;
    void end(Item& item, LeaseStep step, MessageEnd ending);
    void close(Item& item, MessageEnd ending);
    void tell(LeaseEvent event) const;
    void reached(Step step) {
        onceward::reached(parts_.observer, step);
        trace_.reached(step);
    }
    void lose(Item& item) const;
    void wait(const Item& item, int tried, std::chrono::milliseconds pause,
              const std::string& reason);

    // Claims what may be begun soon. Returns the partitions that were missed.
    std::set<Partition> claim(Connection& connection);
    std::vector<Item*> next_claims();
    std::optional<std::vector<LeaseAnswer>> ask(Connection& connection,
                                                std::span<const Claim> claims,
                                                std::set<Partition>& missed);
    void take(Item& item, LeaseAnswer answer, Clock::time_point asked);
    void conflict(Item& item, std::optional<EarlierClaim> earlier);
    void refuse(Item& item, Verdict verdict);
    void extend(Connection& connection);
    void begin_effects();
    void collect();
    void failed(Item& item);
    void again(Item& item);
    std::chrono::milliseconds patience() const;

    // lease_ends.cc
    std::set<Partition> write_ends(Connection& connection);
    bool write_ends_once(Connection& connection, std::set<Partition>& missed);
    Ends gather(const std::set<Partition>& missed);
    bool write(Transaction& transaction, Ends& ends);
    void landed(const Ends& ends);
    void trace_ends(const Ends& ends);
    void look_for_halt();
    void give_back(Connection& connection);
    void release(Connection& connection, const std::set<Partition>& partitions);

    BatchContext context_;
    RejectPolicy policy_;
    Leases leases_;
    Parts parts_;
    Committed committed_;
    RejectionWindow rejections_;
    BatchTrace trace_;
    MessageRetries waited_;                         // tries after the other side did not succeed
    MessageRetries elsewhere_;                      // tries while another worker has the key
    std::pmr::monotonic_buffer_resource finished_;  // what deferred messages of the batch became
    Batch batch_;                                   // owns what items_ points to
    std::vector<Item> items_;                       // in batch order, without what was passed
    std::map<Partition, FinishedPrefix> prefixes_;
    std::map<Partition, Wait> waits_;
    std::optional<TopicHalted> halting_;
    std::set<Partition> leaving_;
    std::uint64_t last_number_ = 0;
    // How often the last SQLSTATE came in a row, as in Processor.
    FailureSeries failures_;
};

}  // namespace onceward
