#include "dedup/eviction.h"

#include "dedup/postgres/transaction.h"
#include "schemas/queries.h"

namespace onceward {

std::optional<int> evict(Connection& connection, int ledger, std::span<const Digest> digests,
                         const std::string& reason, std::chrono::milliseconds lock_timeout) {
    try {
        OwnedTransaction transaction(connection);
        transaction.query(sql::retention_lock_timeout,
                          Parameters{}.text(std::to_string(lock_timeout.count()) + "ms"));
        const int evicted = transaction
                                .query(sql::evict_claims,
                                       Parameters{}.integer(ledger).digests(digests).text(reason))
                                .rows();
        transaction.commit();
        return evicted;
    } catch (const PostgresError& error) {
        // A lock, a deadlock, or a table that retention has just dropped.
        const std::string& code = error.sqlstate();
        if (code != "55P03" && code != "40P01" && code != "42P01") throw;
        return std::nullopt;
    }
}

}  // namespace onceward
