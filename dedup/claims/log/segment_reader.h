#pragma once
// Reads segments of a ledger's log: their filters into a window, blocks where a filter says yes,
// and where earlier claims came from. Used by one thread; failures are PostgresErrors;
// std::runtime_error where a stored filter is none.

#include <functional>
#include <span>
#include <vector>

#include "dedup/claims/claim_store.h"
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

// Returns the places of each claim, in the order of the claims. In the transaction of the batch, a
// statement for each generation of the log. `window_of`: which window knows where a claim may have
// come from. Throws 40001 if a generation's table was dropped meanwhile.
std::vector<std::vector<ClaimPlace>> log_places(
    Transaction& transaction, int ledger, std::span<const Claim> claims,
    const std::function<const LogWindow*(const Claim&)>& window_of);

}  // namespace onceward
