#pragma once
// Whether a ledger can judge a key. It drops claims after their retention, so a key that was minted
// before its memory begins may have taken effect without a trace. Such a key is refused. Used by
// one thread, inside the transaction that claims; failures are PostgresErrors.

#include <optional>
#include <span>
#include <vector>

#include "dedup/claims/claim_store.h"
#include "dedup/postgres/transaction.h"

namespace onceward {

// Whether any of the claims has a time.
bool has_times(std::span<const Claim> claims);

// One entry for each claim: the answer `late` or `early`, and nullopt if the ledger can judge it.
// Empty if no claim has a time. A late key may still be known: look for its claim before you refuse
// it. REQUIRES: the transaction holds the ledger's lock, taken by a statement before this one. With
// an older snapshot an expiry that the lock waited for would not be seen.
std::vector<std::optional<ClaimAnswer>> beyond_memory(Transaction& transaction, int ledger,
                                                      std::span<const Claim> claims);

}  // namespace onceward
