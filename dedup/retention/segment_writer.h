#pragma once
// Writes what a segment consists of: sorted blocks, and the filters over them; and reads the claims
// for it. Used by one thread; failures are PostgresErrors.

#include <cstdint>
#include <span>
#include <vector>

#include "dedup/claims/log/segment.h"
#include "dedup/postgres/connection.h"

namespace onceward {

// Large segments have narrow filters, since they decide how much memory a ledger takes. Small ones
// have exact filters, since they decide how often a batch reads a block in vain.
FilterKind kind_for(std::int64_t claims);
std::int64_t claims_in(std::span<const PartExtent> parts);

// An empty list with room for the claims of these filters.
std::vector<SealedClaim> room_for(const FilterRange& filters);

// Appends those claims of a row of an answer that belong to these filters of the part. The row's
// first columns are their digests, the numbers of their batches, and their fingerprints. `later`:
// by how much the numbers of the batches grow.
void take_claims(const QueryResult& rows, int row, const PartExtent& part,
                 const FilterRange& filters, std::int64_t later, std::vector<SealedClaim>& claims);

// Writes the blocks and the filters of one reading, in a transaction of its own. `names`: those of
// the segment's tables; `parts`: all of the segment. REQUIRES: `claims` are as sort_claims() leaves
// them, and belong to these filters.
void write_segment(Connection& connection, const Connection::Names& names,
                   std::span<const PartExtent> parts, const FilterRange& filters,
                   std::span<const SealedClaim> claims, FilterKind kind);

}  // namespace onceward
