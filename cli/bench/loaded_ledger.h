#pragma once
// A `log` ledger that holds many claims before anything is measured. Used by one thread; failures
// are exceptions.

#include <cstdint>
#include <string>

#include "cli/bench/tables.h"

namespace onceward::bench {

// Of the ledgers that the bench's workers use.
inline constexpr const char* ledger_name = "onceward-bench";

class LoadedLedger {
  public:
    // Makes the ledger and copies so many random digests into its log, 5,000 a batch, in
    // generations of at most LedgerOptions::rotate_claims; then has retention's job seal them.
    LoadedLedger(Tables& tables, std::int64_t claims);

    std::int64_t claims() const { return claims_; }
    // Of all of the ledger's tables. Throws where a log was left unsealed.
    double disk_bytes_a_claim() const;
    // Of the window that a process reads at its start, as the window counts itself.
    double memory_bytes_a_claim() const;

  private:
    Tables& tables_;
    std::int64_t claims_;
    int ledger_ = 0;
    int source_ = 0;
    std::int64_t current_ = 1;  // generation
};

}  // namespace onceward::bench
