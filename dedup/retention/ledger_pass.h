#pragma once
// One pass of retention over a ledger: rotates it, drops what has expired and seals its oldest log,
// in several short transactions. Used by one thread, which leads the ledger's retention; failures
// are PostgresErrors, but never for a lock.

#include <chrono>

#include "dedup/ledger/ledger_options.h"
#include "dedup/postgres/connection.h"
#include "dedup/retention/retention.h"

namespace onceward {

// Whether a lock was not available in time, or a deadlock was broken: another pass will do.
bool lock_was_busy(const PostgresError& error);

// `next_warning`: when the log may name again what holds a ledger of this process back.
RetentionReport pass_over(Connection& connection, const LedgerOptions& ledger, int number,
                          const RetentionOptions& job, PassMemory& memory,
                          std::chrono::steady_clock::time_point& next_warning);

}  // namespace onceward
