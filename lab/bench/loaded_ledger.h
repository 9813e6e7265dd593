#pragma once
// A `log` ledger that holds many claims before anything is measured, and how it gets rid of them.
// Used by one thread; failures are exceptions.

#include <cstdint>
#include <string>

#include "lab/bench/tables.h"

namespace onceward::bench {

// The name of the ledgers that the bench's workers use.
inline constexpr const char* ledger_name = "onceward-bench";

class LoadedLedger {
  public:
    // Makes the ledger and copies so many random digests into its log, 5,000 a batch, in
    // generations of falling size; then has retention's job seal them, and
    // vacuums them.
    // `each`: how many claims a generation has instead; its segments are not merged then.
    LoadedLedger(Tables& tables, std::int64_t claims, std::int64_t each = 0);

    std::int64_t claims() const { return claims_; }
    // Counts all of the ledger's tables. Throws if a log was left unsealed.
    double disk_bytes_a_claim() const;
    // Counts the window that a process reads at its start, as the window counts itself.
    double memory_bytes_a_claim() const;
    // Unlists what is sealed, as if all watermarks had passed it, and has retention's job drop the
    // tables. Seconds.
    double purge() const;
    // Has retention's job merge all that is due. Seconds.
    double merge() const;
    // How often a block of its segments was looked for, by sessions that have ended.
    std::int64_t segment_reads() const;
    // Those that were claimed since it was loaded. REQUIRES: no worker runs.
    void forget_new_claims() const;
    // Dead rows in all of the ledger's tables, once the sessions that wrote there are gone.
    std::int64_t dead_rows() const;

  private:
    Tables& tables_;
    std::int64_t claims_;
    int ledger_ = 0;
    int source_ = 0;
    std::int64_t current_ = 1;  // generation
};

// What a table without generations has to do instead: so many claims by `table`, deleted 10,000 a
// transaction by a session that is alone. Seconds, without the VACUUM that would be due then.
double delete_in_batches(const Tables& tables, std::int64_t claims);

}  // namespace onceward::bench
