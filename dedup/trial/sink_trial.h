#pragma once
// Runs a sink over messages without Kafka, fences and ledger tables, for tests of one's own sink:
// encode(), claims in memory, write(), the deferred constraints, COMMIT, and a rejected message
// alone, as the worker does it. Used by one thread; borrows the session and the sink. Throws what
// is not a message's fault: PostgresError, SinkMismatch.

#include <map>
#include <string>
#include <vector>

#include "dedup/claims/claim_store.h"
#include "dedup/message/batch.h"
#include "dedup/message/message.h"
#include "dedup/sink/sink.h"

namespace onceward {

// A ledger in memory, for tests of one's own sink or key rules: the verdicts of the table store
// without its tables. DANGER: for tests alone. It knows nothing of other workers and forgets at the
// process's end, so that a real topic would be applied twice. Used by one thread; throws nothing
// but std::bad_alloc.
class MemoryStore final : public ClaimStore {
  public:
    std::optional<std::vector<ClaimAnswer>> claim(Transaction& transaction,
                                                  std::span<const Claim> claims) override;
    // The same without a transaction, for a test without a database.
    std::vector<ClaimAnswer> claim(std::span<const Claim> claims);
    void committed() override;
    // Only what was never committed is forgotten: here memory is the ledger and not a copy of it.
    void connection_lost() override { open_.clear(); }
    std::size_t size() const { return claims_.size(); }
    bool holds(const Digest& digest) const { return claims_.contains(digest); }

  private:
    using Claims = std::map<Digest, std::optional<Digest>>;  // with the fingerprint
    Claims claims_;
    // of the transaction under way; the next claim() without committed() means that it was rolled
    // back
    Claims open_;
};

struct TrialMessage {
    std::string key;  // its idempotency key
    // in the order of Sink::fields(); their texts outlive the call of apply()
    std::vector<Value> fields;
    std::string payload;
    Operation operation = Operation::upsert;
};

struct TrialOutcome {
    Totals totals;
    std::vector<Rejection> rejections;   // in the messages' order
    std::vector<MessageResult> results;  // of those that were applied, if the sink has some
};

class SinkTrial {
  public:
    // Calls sink.prepare().
    SinkTrial(Connection& connection, Sink& sink);
    // All of them as one batch. Keys of earlier calls are duplicates.
    TrialOutcome apply(const std::vector<TrialMessage>& messages);

  private:
    bool attempt(const Slice& slice, TrialOutcome& outcome);
    Connection& connection_;
    Sink& sink_;
    MemoryStore claims_;
    Offset next_offset_{0};
};

}  // namespace onceward
