#include "dedup/ledger/make_store.h"

#include <stdexcept>

#include "dedup/claims/log/log_store.h"
#include "dedup/claims/log/partition_log_store.h"
#include "dedup/claims/table_store.h"

namespace onceward {

std::unique_ptr<ClaimStore> make_claim_store(const LedgerOptions& options,
                                             const RegisteredLedger& registered,
                                             std::shared_ptr<LogWindows> windows) {
    const auto [ledger, source] = registered;
    switch (options.store) {
        case StoreKind::table: return std::make_unique<TableStore>(ledger, source);
        case StoreKind::log:
            switch (options.reach) {
                case Reach::global:
                    return std::make_unique<LogStore>(ledger, source, std::move(windows));
                case Reach::partition: return std::make_unique<PartitionLogStore>(ledger, source);
            }
            break;
        case StoreKind::lease: break;
    }
    throw std::invalid_argument("a ledger with `store: lease` is no store of claims");
}

}  // namespace onceward
