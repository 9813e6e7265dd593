#pragma once
// Reads from a ledger's log where earlier claims came from. Used by one thread, in the transaction
// of the batch; failures are PostgresErrors.

#include <span>
#include <vector>

#include "dedup/claims/claim_store.h"
#include "dedup/claims/log/log_window.h"
#include "dedup/postgres/transaction.h"

namespace onceward {

// A place in the log where a claim may have come from.
struct WantedPlace {
    std::size_t claim;  // index into the claims
    LogWindow::Whereabouts at;
};
// Returns the places of each claim, in the order of the claims. Sends one statement for each
// generation of the log. Throws 40001 if a generation's table was dropped meanwhile.
std::vector<std::vector<ClaimPlace>> log_places(Transaction& transaction, int ledger,
                                                std::span<const Claim> claims,
                                                std::span<const WantedPlace> wanted);

}  // namespace onceward
