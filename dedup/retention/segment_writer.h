#pragma once
// Writes what a segment consists of: sorted blocks, and the filters over them. Used by one thread;
// failures are PostgresErrors.

#include <span>

#include "dedup/claims/log/segment.h"
#include "dedup/postgres/connection.h"

namespace onceward {

// Large segments have narrow filters: they decide what memory a ledger takes, and small ones how
// often a batch reads a block in vain.
FilterKind kind_for(std::int64_t claims);
std::int64_t claims_in(std::span<const PartExtent> parts);

// The blocks and the filters of one reading, in a transaction of their own. `names`: those of the
// segment's tables; `parts`: all of the segment. REQUIRES: claims as sort_claims() leaves them, all
// of these filters.
void write_segment(Connection& connection, const Connection::Names& names,
                   std::span<const PartExtent> parts, const FilterRange& filters,
                   std::span<const SealedClaim> claims, FilterKind kind);

}  // namespace onceward
