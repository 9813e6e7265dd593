#pragma once
// A batch of requests as an unfenced transaction: which keys are claimed, what the sink writes for
// the fresh ones, and the answers of the known ones. There are no dead letters: the sender of a bad
// request gets the error. One object for each session, used by one thread; borrows its parts.
// Failures are PostgresErrors.

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "dedup/base/expects.h"
#include "dedup/claims/table_store.h"
#include "dedup/message/message.h"
#include "dedup/policy/refusal_search.h"
#include "dedup/sink/sink.h"
#include "dedup/unfenced_transaction.h"
#include "gateway/requests/keyed_request.h"

namespace onceward {

// A request of a batch. It must not move, because its message has views into it.
struct RequestInBatch {
    KeyedRequest request;
    Chunk chunk;             // the request as a message, the only one
    Digest attempt;          // random; stored with its result
    bool in_doubt = false;   // a COMMIT with it had no answer
    bool is_known = false;   // its key is probably claimed already
    KeyedOutcome outcome{};  // of the last attempt; counts once that was committed
    // When the database was asked for the outcome: the last attempt's COMMIT, or else its start.
    std::chrono::steady_clock::time_point as_of = never;
    // REQUIRES: the message was made.
    Message& message() {
        expects(!chunk.messages.empty(), "the request's message was made");
        return chunk.messages.front();
    }
};

class SinkTransaction {
  public:
    struct Parts {
        ClaimStore& claims;
        ResultStore& results;
        Sink& sink;
        BatchContext context;
        ResultLimits limits;
        // The ledger's number if it is a table. There a claim waits for an unfinished transaction
        // that has claimed the key. With a log, a transaction finds this out only at its own end.
        std::optional<int> table{};
        StepObserver* observer = nullptr;  // may be null
        // May be empty. Called with the keys that are claimed now for the first time, before the
        // sink writes.
        std::function<void(std::span<const Digest>)> originals = {};
    };
    explicit SinkTransaction(Parts parts) : parts_(std::move(parts)) {}

    // Returns `again` if a presumption did not hold; then nothing landed. REQUIRES: no two requests
    // have the same digest, none is rejected. If a claim waits longer than `patience`, it fails
    // (55P03) while claiming() is true. A few requests are tried in one round trip first, as if
    // all of their keys were new; many only if many were new before.
    Settlement attempt(Connection& connection, std::span<RequestInBatch* const> requests,
                       std::chrono::milliseconds patience);
    // Finds the requests that the sink refuses, as RefusalSearch::run() says, and rolls back.
    // Returns nullopt if a presumed claim did not hold.
    std::optional<std::vector<Refusal>> search(Connection& connection,
                                               std::span<RequestInBatch* const> requests,
                                               std::chrono::milliseconds patience,
                                               RefusalSearch& search, int earlier);
    // How long the sink's statements wait for a lock, in place of the session's lock_timeout, which
    // nullopt stands for. In all later transactions.
    void limit_locks(std::optional<std::chrono::milliseconds> longest) { lock_wait_ = longest; }
    bool claiming() const { return claiming_; }
    // Whose statement ran last.
    Origin origin() const { return origin_; }

  private:
    struct Claimed {
        std::vector<RequestInBatch*> fresh;
        std::vector<RequestInBatch*> known;
    };
    UnfencedTransaction begin(Connection& connection, std::span<RequestInBatch* const> requests);
    bool may_be_at_once(std::span<RequestInBatch* const> requests) const;
    // Returns whether it landed; if not, nothing of it did.
    bool land_at_once(Connection& connection, std::span<RequestInBatch* const> requests,
                      std::chrono::milliseconds patience);
    std::optional<std::vector<Connection::Planned>> statements_at_once(
        std::span<RequestInBatch* const> requests, std::vector<SinkStatement> rows,
        std::chrono::milliseconds patience, std::chrono::milliseconds limit);
    std::vector<ResultStore::Stored> answer(std::span<RequestInBatch* const> fresh,
                                            std::vector<MessageResult> results) const;
    std::optional<Claimed> sort(UnfencedTransaction& unfenced,
                                std::span<RequestInBatch* const> requests,
                                std::chrono::milliseconds patience);
    std::optional<std::vector<ClaimAnswer>> claim(UnfencedTransaction& unfenced,
                                                  std::span<const Claim> claims,
                                                  std::chrono::milliseconds patience);
    std::vector<ResultStore::Stored> write(Transaction& transaction,
                                           std::span<RequestInBatch* const> fresh);
    void replay(Transaction& transaction, std::span<RequestInBatch* const> known);
    Parts parts_;
    NewKeysPresumption presumption_;  // that all keys are new
    bool many_were_new_ = false;      // and nothing was known or refused since
    bool is_rest_ = false;            // the next attempt is at the rest of a batch with a refusal
    std::optional<std::chrono::milliseconds> lock_wait_;
    Origin origin_ = Origin::ours;
    bool claiming_ = false;
};

}  // namespace onceward
