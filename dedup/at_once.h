#pragma once
// A few fresh messages in one round trip. Step by step (Processor) a transaction waits for the
// server six times and more: for its fences, the sink's rows, the ledger's lock, COMMIT. A large
// batch hardly notices that, but a lone message spends most of its time there. Here everything is
// sent together. The fences are taken and moved by one statement, then come the rows and the
// claims. Each statement fails if what was presumed is wrong. The server then skips the rest,
// COMMIT too, and the slice is processed step by step. Used by the writer's thread; borrows its
// parts.

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "dedup/base/step_observer.h"
#include "dedup/claims/claim_store.h"
#include "dedup/claims/new_keys_presumption.h"
#include "dedup/fence/fence.h"
#include "dedup/policy/slice_outcomes.h"
#include "dedup/sink/sink.h"

namespace onceward {

class AtOnce {
  public:
    static constexpr std::size_t most_messages = 32;
    // If anything fails, the rows are sent again, so there must be few.
    static constexpr std::size_t most_bytes = std::size_t{64} << 10;
    // Until the rows are written, no statement may wait for a lock, or run, for longer than this.
    // Longer waits belong to the steps, where failures are counted and partitions are given back.
    // A statement's first use prepares it before that, under the session's own limits.
    static constexpr std::chrono::milliseconds longest_statement{200};

    struct Parts {
        Fences& fences;
        ClaimStore& claims;
        Sink& sink;
        std::function<void(Step)> reached;
    };
    // What becomes of the slice's messages if all of their keys are new.
    using SortFresh = std::function<SliceOutcomes()>;

    explicit AtOnce(Parts parts) : parts_(std::move(parts)) {}

    // Returns what landed; nullopt if nothing has, and the slice can be processed step by step.
    // Throws PostgresError if the session was lost, which leaves the transaction in doubt; if a
    // deadlock was broken; and if a statement took too long to prepare. REQUIRES: the store has
    // caught up.
    std::optional<SliceOutcomes> land(Connection& connection, const BatchContext& context,
                                      const Slice& slice, const SortFresh& sort);

  private:
    struct Plan {
        std::vector<Connection::Planned> statements;
        std::size_t claiming = 0;  // the last statements, this many, make the claims
    };
    // nullopt if a key may be known, or the sink has no statements.
    std::optional<Plan> plan(const ConnectionOptions& limits, const BatchContext& context,
                             const Slice& slice, const SliceOutcomes& sorted);
    void run(Connection& connection, const Plan& plan);

    Parts parts_;
    // If a failure were forgotten after one right batch, and another process of the ledger
    // committed now and then, every second batch could be written twice.
    NewKeysPresumption presumption_{8};
};

}  // namespace onceward
