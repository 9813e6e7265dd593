#pragma once
// Makes a ledger and the topics that feed it known to the database. Used at start, by one thread.
// Throws PostgresError, std::runtime_error if the ledger exists with another store or reach, or if
// results are wanted and it has an inbox that stores none, and std::invalid_argument for options
// that exclude each other.

#include <memory>
#include <string>

#include "dedup/claims/log/log_window.h"
#include "dedup/ledger/ledger_options.h"
#include "dedup/postgres/connection.h"

namespace onceward {

struct RegisteredLedger {
    // its number; the second key of its advisory lock and part of its tables' names
    int ledger = 0;
    int source = 0;                      // short name of (group, topic) in the claims' rows
    StoreKind store = StoreKind::table;  // with `store: auto` the one that the ledger has
    friend bool operator==(const RegisteredLedger&, const RegisteredLedger&) = default;
};

// The ledger's row (its retention follows the configuration, and a log's reach may become global),
// its first generation and the topic's feed.
RegisteredLedger register_ledger(Connection& connection, const LedgerOptions& options,
                                 const std::string& consumer_group, const std::string& topic);

// The same for a source without a log, such as calls of once() or a server's requests: its feed's
// watermark is the clock minus the longest request of all processes that registered it, since an
// older process may still run. `service` and `name` take the place of group and topic. Throws
// std::invalid_argument for `reach: partition`.
RegisteredLedger register_requests(Connection& connection, const LedgerOptions& options,
                                   const std::string& service, const std::string& name,
                                   std::chrono::milliseconds longest_request);

// For a ledger with `reach: partition`: how many partitions its topic may have. That is the
// `partitions` of the first call.
int fixed_partitions(Connection& connection, int source, int partitions);

// Makes the class that implements the ledger's registered store and its reach. Pure; throws
// std::invalid_argument for `lease`, which dedup/leases/leases.h implements. `windows`: the
// process's, shared by all of its workers.
std::unique_ptr<ClaimStore> make_claim_store(const LedgerOptions& options,
                                             const RegisteredLedger& registered,
                                             std::shared_ptr<LogWindows> windows);

}  // namespace onceward
