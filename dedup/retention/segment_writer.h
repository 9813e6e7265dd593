#pragma once
// Writes what a segment consists of: sorted blocks, and the filters over them; and reads the claims
// for it. Used by one thread; failures are PostgresErrors.

#include <cstdint>
#include <span>
#include <vector>

#include "dedup/claims/log/segment.h"
#include "dedup/postgres/connection.h"

namespace onceward {

// Large segments have narrow filters: they decide what memory a ledger takes, and small ones how
// often a batch reads a block in vain.
FilterKind kind_for(std::int64_t claims);
std::int64_t claims_in(std::span<const PartExtent> parts);

// An empty list with room for the claims of these filters.
std::vector<SealedClaim> room_for(const FilterRange& filters);

// The claims of one row of an answer, which it views.
class ClaimsOfRow {
  public:
    // `first`: the column of the digests, which that of the batches' numbers may follow; the next
    // one has the fingerprints, null if no claim has one.
    enum class Batches : std::uint8_t { same, each };
    ClaimsOfRow(const QueryResult& rows, int row, int first, Batches batches);
    std::span<const Digest> digests() const { return digests_; }
    // `batch`: the row's own, or with a number for each claim what is added to it.
    SealedClaim claim(std::size_t place, std::int64_t batch, std::int32_t part = 0) const;

  private:
    std::span<const Digest> digests_;
    std::span<const Digest> fingerprints_;
    std::string_view batches_;  // four bytes for each claim, or empty
};

// The blocks and the filters of one reading, in a transaction of their own. `names`: those of the
// segment's tables; `parts`: all of the segment. REQUIRES: claims as sort_claims() leaves them, all
// of these filters.
void write_segment(Connection& connection, const Connection::Names& names,
                   std::span<const PartExtent> parts, const FilterRange& filters,
                   std::span<const SealedClaim> claims, FilterKind kind);

}  // namespace onceward
