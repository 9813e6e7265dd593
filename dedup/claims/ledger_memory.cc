#include "dedup/claims/ledger_memory.h"

#include <algorithm>
#include <chrono>

#include "dedup/base/mutants.h"
#include "schemas/queries.h"

namespace onceward {

std::vector<std::optional<Verdict>> beyond_memory(Transaction& transaction, int ledger,
                                                  std::span<const Claim> claims) {
    const auto has_time = [](const Claim& claim) { return claim.minted_at.has_value(); };
    if (std::ranges::none_of(claims, has_time)) return {};
    // DANGER: the lock in one statement and the look in the next. In one statement the snapshot is
    // older than the lock, and an expiry that the lock waited for would not be seen.
    transaction.prepared(sql::claims_lock_shared, {ledger});
    const QueryResult memory = transaction.prepared(sql::ledger_memory, {ledger}, {}, true);
    if (memory.rows() != 1) try_again("the ledger is no longer registered");
    const auto time = [&](int column) {
        return MintedAt(std::chrono::microseconds(memory.binary_integer(0, column)));
    };
    std::vector<std::optional<Verdict>> beyond(claims.size());
    for (std::size_t i = 0; i < claims.size(); ++i) {
        if (!claims[i].minted_at) continue;
        if (*claims[i].minted_at < time(0) && !mutant("late_key_is_claimed")) {
            beyond[i] = Verdict::late;
        }
        if (*claims[i].minted_at > time(1)) beyond[i] = Verdict::early;
    }
    return beyond;
}

}  // namespace onceward
