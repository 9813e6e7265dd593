#pragma once
// A ledger with `store: lease`: its rows as the lease processor sees them. One object for each
// worker and topic, used by the writer's thread; owns its token. Failures are PostgresErrors. What
// is mine is decided in the rows, by the token, never here.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dedup/claims/claim_store.h"
#include "dedup/ledger/ledger.h"
#include "dedup/sink/sink.h"

namespace onceward {

enum class LeaseVerdict : std::uint8_t {
    mine,       // claimed; `attempts` above 1: it was tried before, by this or another owner
    in_flight,  // another owner is processing it
    done,
    failed,    // for good, until its dead letter is sent again
    conflict,  // the key was used with another fingerprint
    late,      // as the verdicts of the same names: nothing was claimed
    early,
};

struct LeaseAnswer {
    LeaseVerdict verdict = LeaseVerdict::mine;
    int attempts = 1;
    bool taken_over = false;            // mine: its owner's lease ended without a result
    bool own_place = false;             // done, failed: by this very message
    bool counted = false;               // the fence has passed that message
    std::chrono::milliseconds left{0};  // in_flight: until its lease ends, unless it is extended
    std::optional<EarlierClaim> earlier = std::nullopt;  // conflict
};

// How an effect ended.
struct LeaseEnd {
    Digest digest;
    bool failed = false;
    bool counted = false;  // the fence passes it in this transaction
    int status = 0;
    std::string reason;  // '' if there is none
};

// A key that is mine, and a number of tries.
struct LeaseTries {
    Digest digest;
    int tries = 0;
};

class Leases {
  public:
    Leases(RegisteredLedger registered, std::chrono::milliseconds lease);
    // With a token that the caller keeps, for one key: see claim_request().
    Leases(RegisteredLedger registered, std::chrono::milliseconds lease, const Digest& token);
    const RegisteredLedger& registered() const { return registered_; }
    std::chrono::milliseconds lease() const { return lease_; }

    // Claims each key with one try. REQUIRES: sorted by digest, no digest twice, and the fences of
    // their partitions held by this transaction. Answers in the same order; they hold once the
    // COMMIT was answered.
    std::vector<LeaseAnswer> claim(Transaction& transaction, const BatchContext& context,
                                   std::span<const Claim> claims);
    // Claims the key of a request, which is no message and has no fence. `take_over`: claims it
    // also from an owner whose lease ended without a result; that owner may have caused the effect.
    // A token that has claimed the key before gets it again. The claim's place is not used.
    LeaseAnswer claim_request(Transaction& transaction, const Claim& claim, bool take_over);
    // Releases it: anybody may claim it, until retention drops it.
    void release_request(Connection& connection, const Digest& digest);
    // Extends these by another lease from now on, and writes further tries down. Returns those that
    // are still mine, in any order.
    std::vector<Digest> extend(Connection& connection, std::span<const LeaseTries> mine);
    // Releases these. `tries`: how many tries of each were recorded and not made.
    void release(Connection& connection, std::span<const LeaseTries> mine);
    // Writes down how they ended. Returns those that were mine. If one is missing, somebody has
    // taken it over, and the transaction must be rolled back. `passed`: what it will count().
    std::vector<Digest> finish(Transaction& transaction, std::span<const LeaseEnd> ends,
                               bool results_kept, std::span<const Digest> passed = {});
    // The fence passes these, which had ended before.
    void count(Transaction& transaction, std::span<const Digest> passed);

  private:
    // The rows that exist, with their place among the wanted ones.
    QueryResult look(Transaction& transaction, const BatchContext& context,
                     const ClaimColumns& wanted);
    void refuse_unjudged(Transaction& transaction, const BatchContext& context,
                         std::span<const Claim> claims, std::vector<LeaseAnswer>& answers);

    RegisteredLedger registered_;
    std::chrono::milliseconds lease_;
    std::string token_;
};

}  // namespace onceward
