#include "cli/operate/forget_key.h"

#include "dedup/base/text.h"
#include "dedup/operator/interventions.h"
#include "schemas/queries.h"

namespace onceward {

int forget_in_all(Connection& connection, const std::string& ledger,
                  const std::vector<Digest>& digests, const std::string& reason) {
    int evicted = 0;
    const QueryResult ledgers = connection.query(sql::evict_ledgers, {unless_empty(ledger)});
    for (int row = 0; row < ledgers.rows(); ++row) {
        const int number = static_cast<int>(ledgers.integer(row, 0));
        evicted += unlocked("ledger " + std::string(ledgers.text(row, 1)) + " was", [&] {
            return evict(connection, number, digests, reason, forget_lock_timeout);
        });
    }
    return evicted;
}

}  // namespace onceward
