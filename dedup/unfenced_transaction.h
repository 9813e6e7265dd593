#pragma once
// The transaction of work that has no offset: a call, a batch of requests, a page of keys to
// import. Like the processor's (dedup/processor.h), without fences and dead letters. The object
// begins it; then come claim(), apply() if any key is fresh, and land(). Without land() all of it
// is rolled back. A COMMIT whose answer was lost is in doubt: the work is done again, and a result
// that carries its own attempt id shows that it had landed. Used by one thread; borrows its parts.
// Failures are PostgresErrors.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dedup/base/step_observer.h"
#include "dedup/claims/claim_store.h"
#include "dedup/policy/failure.h"
#include "dedup/postgres/transaction.h"
#include "dedup/results/result_store.h"

namespace onceward {

class UnfencedTransaction {
  public:
    struct Parts {
        ClaimStore& claims;
        Origin& origin;                  // whose statement ran last; also after a failure
        ResultStore* results = nullptr;  // null if the effect has none
        StepObserver* observer = nullptr;
    };
    // Returns the results of the keys that it has carried out.
    using Effect = std::function<std::vector<ResultStore::Stored>(Transaction&)>;

    UnfencedTransaction(Connection& connection, const Parts& parts,
                        OwnedTransaction::Begin begin = OwnedTransaction::Begin::now);
    // As ClaimStore::claim().
    std::optional<std::vector<ClaimAnswer>> claim(std::span<const Claim> claims);
    // Runs the effect as Origin::sink, and stores its results. REQUIRES: claim() has answered.
    void apply(const Effect& effect);
    // Commits. `replay` may be empty: it reads the results of the keys that were known. `again`: a
    // presumption did not hold, and nothing has landed. REQUIRES: as apply().
    Settlement land(const std::function<void(Transaction&)>& replay = {});
    // Replaces these three calls: sends claims, effect and results as statements of one round trip,
    // which fail if a presumption does not hold, and COMMIT. A PostgresError without a lost session
    // means that nothing has landed. REQUIRES: the transaction was begun `with_first`.
    void land_at_once(std::vector<Connection::Planned> statements);
    // For further statements of the same transaction.
    Transaction& transaction() { return transaction_; }

  private:
    // What comes before BEGIN.
    static const Parts& ready(Connection& connection, const Parts& parts);
    Parts parts_;
    Ending ending_;
    OwnedTransaction transaction_;
    bool claimed_ = false;
};

}  // namespace onceward
