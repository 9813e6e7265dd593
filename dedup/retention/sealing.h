#pragma once
// Makes segments of a log's sealed generations: reads the log, writes sorted blocks and filters,
// publishes, and drops the log. Run by whoever leads the ledger's retention; nothing here is needed
// for exactness: until it has run, processes hold the digests themselves. Used by one thread;
// failures are PostgresErrors and leave what the next try throws away.

#include <chrono>

#include "dedup/claims/log/segment.h"
#include "dedup/postgres/connection.h"

namespace onceward {

struct SealingOptions {
    // Digests that are sorted, and whose filter is built, at once. Each takes 40 bytes then, and 24
    // more while the filter is made; fewer reads the log more often.
    std::int64_t shard_claims = 4'000'000;
    // What is written is published, and a log dropped, under a lock that commits queue behind: it
    // is waited for no longer, and asked for again this often before the work is thrown away.
    std::chrono::milliseconds lock_timeout{1000};
    int publish_tries = 30;
};

struct SealingReport {
    bool sealed = false;  // false: there was nothing to seal, or something went away meanwhile
    std::int64_t generation = 0;
    std::int64_t claims = 0;
};

// The oldest sealed generation of the ledger that is no segment yet, if there is one.
SealingReport seal_oldest(Connection& connection, int ledger, const SealingOptions& options = {});
// Drops logs that were sealed, also those that an earlier crash left behind. How many.
int drop_sealed_logs(Connection& connection, int ledger, const SealingOptions& options = {});

}  // namespace onceward
