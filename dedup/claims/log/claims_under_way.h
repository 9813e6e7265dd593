#pragma once
// What the transactions of a process's workers are about to append to one ledger's log. A key that
// another worker's transaction claims is presumed to be a duplicate; otherwise its row would be
// written, found out and written again. A transaction that relies on this waits for the other's end
// before its own, and then asks the window whether the other was committed. Thread-safe; throws
// only std::bad_alloc.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "dedup/base/mutex.h"
#include "dedup/claims/claim_store.h"
#include "dedup/claims/log/log_batch.h"

namespace onceward {

// What a transaction relies on: these claims, of these transactions.
struct Reliance {
    struct OnClaim {
        Digest digest;
        std::optional<Digest> fingerprint;
    };
    std::vector<OnClaim> claims;
    std::vector<std::uint64_t> transactions;
};

class ClaimsUnderWay {
  public:
    // Marks the claims that other transactions are about to make, where `reliance` is given, and
    // notes them there; puts all that is fresh then into `mine`. The number that end() wants.
    // REQUIRES: claims sorted by digest; `mine` empty, and left alone until end().
    // One moment for all of it, so that no two transactions rely on each other.
    std::uint64_t begin(std::span<const Claim> claims, std::span<ClaimAnswer> answers,
                        LogAppend& mine, Reliance* reliance);
    // DANGER: of a transaction that was committed only when the window knows its claims.
    void end(std::uint64_t number);
    // Whether all of these have ended by then.
    bool wait(std::span<const std::uint64_t> numbers, std::chrono::milliseconds limit);

  private:
    Mutex mutex_;
    std::condition_variable_any ended_;
    std::uint64_t last_ ONCEWARD_GUARDED_BY(mutex_) = 0;
    std::map<std::uint64_t, LogBatch> open_ ONCEWARD_GUARDED_BY(mutex_);
};

}  // namespace onceward
