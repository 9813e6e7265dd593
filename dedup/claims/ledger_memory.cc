#include "dedup/claims/ledger_memory.h"

#include <algorithm>
#include <chrono>

#include "dedup/base/mutants.h"
#include "schemas/queries.h"

namespace onceward {

bool has_times(std::span<const Claim> claims) {
    return std::ranges::any_of(claims,
                               [](const Claim& claim) { return claim.minted_at.has_value(); });
}

std::vector<std::optional<ClaimAnswer>> beyond_memory(Transaction& transaction, int ledger,
                                                      std::span<const Claim> claims) {
    if (!has_times(claims)) return {};
    const QueryResult memory = transaction.prepared(sql::ledger_memory, {ledger}, {}, true);
    if (memory.rows() != 1) try_again("the ledger is no longer registered");
    const auto time = [&](int column) {
        return MintedAt(std::chrono::microseconds(memory.binary_integer(0, column)));
    };
    const MintedAt begins = time(0);
    const MintedAt ends = time(1);
    std::vector<std::optional<ClaimAnswer>> beyond(claims.size());
    for (std::size_t i = 0; i < claims.size(); ++i) {
        if (!claims[i].minted_at) continue;
        if (*claims[i].minted_at < begins && !mutant("late_key_is_claimed")) {
            beyond[i] = ClaimAnswer{Verdict::late, {}, begins};
        }
        if (*claims[i].minted_at > ends) beyond[i] = ClaimAnswer{Verdict::early, {}, ends};
    }
    return beyond;
}

}  // namespace onceward
