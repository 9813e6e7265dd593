#pragma once
// Reads segments of a ledger's log: their filters into a window, and blocks where a filter says
// yes. Used by one thread; failures are PostgresErrors; std::runtime_error where a stored filter is
// none.

#include "dedup/claims/log/log_window.h"
#include "dedup/postgres/transaction.h"

namespace onceward {

// A generation that has become a segment, and those of its parts that are asked for.
struct PublishedSegment {
    std::int64_t generation = 0;
    std::vector<PartExtent> parts;
};

// Outside of any transaction. Puts those into the window that it has not got.
void read_segments(Connection& connection, int ledger, std::span<const PublishedSegment> segments,
                   LogWindow& window);

// What filters say yes to is looked up: answers for the claims that a segment really holds. In the
// transaction of the batch, a statement for each segment. REQUIRES: suspects in their generations'
// order.
void verify(Transaction& transaction, int ledger, std::span<const LogWindow::Suspect> suspects,
            std::span<const Claim> claims, std::span<ClaimAnswer> answers);

}  // namespace onceward
