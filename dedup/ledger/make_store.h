#pragma once
// Which class implements a ledger's `store` and `reach`. Pure; std::invalid_argument for `lease`,
// which dedup/leases/leases.h implements.

#include <memory>

#include "dedup/claims/log/log_windows.h"
#include "dedup/ledger/ledger.h"

namespace onceward {

// `windows`: the process's, shared by all of its workers.
std::unique_ptr<ClaimStore> make_claim_store(const LedgerOptions& options,
                                             const RegisteredLedger& registered,
                                             std::shared_ptr<LogWindows> windows);

}  // namespace onceward
