#pragma once
// Takes claims out of a ledger by hand, whatever its store: a message under that key that comes
// again is applied. Each is written down in `evictions`, in the same transaction, and its result
// goes with it; so are erasures of results by tenant. Used by one thread; failures are
// PostgresErrors, but for locks.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "dedup/postgres/connection.h"

namespace onceward {

// How many were there; none where it is to be tried again, as the ledger's lock was not to be had
// within `lock_timeout`: all claims of the ledger queue behind who waits for it, and while a log's
// open generation is searched. REQUIRES: a reason that is not empty.
std::optional<int> evict(Connection& connection, int ledger, std::span<const Digest> digests,
                         const std::string& reason, std::chrono::milliseconds lock_timeout);

// Deletes the stored results of a tenant, and leaves the claims. How many; none where it is to be
// tried again, as above. While it waits and works nobody stores a result in the ledger. REQUIRES: a
// reason and a tenant that are not empty.
std::optional<std::int64_t> erase_results(Connection& connection, int ledger,
                                          std::string_view tenant, const std::string& reason,
                                          std::chrono::milliseconds lock_timeout);

}  // namespace onceward
