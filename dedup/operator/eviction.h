#pragma once
// Takes claims out of a ledger by hand, whatever its store: a message with that key that is
// redelivered is applied. Each is recorded in `evictions`, in the same transaction, and its result
// is deleted with it; so are erasures of results by tenant. Used by one thread; failures are
// PostgresErrors, except for locks.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dedup/postgres/connection.h"

namespace onceward {

// Returns how many claims there were; nullopt if it must be tried again, because the ledger's lock
// was not available within `lock_timeout`: all claims of the ledger queue while somebody waits for
// the lock, and while a log's open generation is searched. Throws PostgresError (23514) if the
// reason is empty.
std::optional<int> evict(Connection& connection, int ledger, std::span<const Digest> digests,
                         const std::string& reason, std::chrono::milliseconds lock_timeout);

// Deletes the stored results of a tenant, and leaves the claims. Returns how many; nullopt if it
// must be tried again, as above. While it waits and works, no result can be stored in the ledger.
// Throws PostgresError (23514) if the reason is empty. REQUIRES: a tenant that is not empty.
std::optional<std::int64_t> erase_results(Connection& connection, int ledger,
                                          std::string_view tenant, const std::string& reason,
                                          std::chrono::milliseconds lock_timeout);

}  // namespace onceward
