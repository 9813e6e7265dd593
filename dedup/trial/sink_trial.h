#pragma once
// Runs a sink over messages without Kafka, fences and ledger tables, for tests of one's own sink:
// encode(), claims in memory, write(), the deferred constraints, COMMIT, and a rejected message
// alone, as the worker does it. Used by one thread; borrows the session and the sink. Throws what
// is not a message's fault: PostgresError, SinkMismatch.

#include <string>
#include <vector>

#include "dedup/message/batch.h"
#include "dedup/message/outcome.h"
#include "dedup/sink/sink.h"
#include "dedup/trial/memory_store.h"

namespace onceward {

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
    std::vector<MessageResult> results;  // of those that were applied, where the sink has some
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
