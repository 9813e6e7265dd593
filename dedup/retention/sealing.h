#pragma once
// Makes segments of a log's sealed generations: reads the log, writes sorted blocks and filters,
// publishes, and drops the log. Run by the process that leads the ledger's retention. Exactness
// does not depend on it: until it has run, processes hold the digests themselves. Used by one
// thread; failures are PostgresErrors and leave only what the next try discards.

#include <chrono>
#include <functional>

#include "dedup/claims/log/segment.h"
#include "dedup/postgres/connection.h"

namespace onceward {

struct SealingOptions {
    // How many digests are sorted, and have their filter built, at once; up to four times as many
    // for a large log. Each takes 40 bytes then, and 24 more while the filter is made. A smaller
    // number reads the log more often.
    std::int64_t shard_claims = 1'000'000;
    // Publishing and dropping a log take a lock that commits queue for. One try waits no longer
    // than this, and this many tries are made before the work is discarded.
    std::chrono::milliseconds lock_timeout{1000};
    int publish_tries = 30;
};

struct SealingReport {
    bool sealed = false;  // false: there was nothing to seal, or something went away meanwhile
    std::int64_t generation = 0;
    std::int64_t claims = 0;
};

// Makes a segment of the oldest sealed generation of the ledger that is none yet, if there is one.
SealingReport seal_oldest(Connection& connection, int ledger, const SealingOptions& options = {});
// Calls `publish`, which works in a transaction, and again if that did not get its lock in time.
// Returns what `publish` returned.
bool try_publishing(const SealingOptions& options, const std::function<bool()>& publish);
// Drops logs that were sealed, also those that an earlier crash left. Returns how many.
int drop_sealed_logs(Connection& connection, int ledger, const SealingOptions& options = {});

}  // namespace onceward
