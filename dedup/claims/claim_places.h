#pragma once
// Where the earlier claims of messages in conflict came from. Used by one thread, in the
// transaction of the batch; failures are PostgresErrors.

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dedup/claims/claim_store.h"
#include "dedup/postgres/query_result.h"

namespace onceward {

// The places of each of the claims, in their order. Borrows nothing.
class ClaimPlaces {
  public:
    explicit ClaimPlaces(std::span<const Claim> claims);
    // From the rows of sql::explain_claim.
    void take(const QueryResult& rows);
    // The claims that were asked for, and the part of a segment for each: the same key in another
    // part may be another claim.
    using Parts = std::set<std::pair<std::size_t, int>>;
    // From the rows of sql::explain_segment_claim or explain_parts_claim.
    void take_parts(const QueryResult& rows, const Parts& asked);
    // From the rows of sql::log_places; `claims` by the seq of their batch.
    void take_batches(const QueryResult& rows,
                      const std::multimap<std::int64_t, std::size_t>& claims);
    std::vector<std::vector<ClaimPlace>> all;

  private:
    std::multimap<std::string, std::size_t, std::less<>> by_digest_;  // as PostgreSQL prints it
};

}  // namespace onceward
