#include "dedup/unfenced_transaction.h"

#include "dedup/base/expects.h"
#include "schemas/queries.h"

namespace onceward {

// DANGER: the steps below stay in this order: claims, effect, results, COMMIT. In any other order a
// crash or a second process applies a key twice, or answers one that was never applied.
UnfencedTransaction::UnfencedTransaction(Connection& connection, const Parts& parts,
                                         OwnedTransaction::Begin begin)
    : parts_(ready(connection, parts)), ending_(&parts_.claims), transaction_(connection, begin) {}

const UnfencedTransaction::Parts& UnfencedTransaction::ready(Connection& connection,
                                                             const Parts& parts) {
    parts.origin = Origin::ours;
    parts.claims.catch_up(connection);
    if (parts.results != nullptr) parts.results->begin();
    reached(parts.observer, Step::before_begin);
    return parts;
}

std::optional<std::vector<ClaimAnswer>> UnfencedTransaction::claim(std::span<const Claim> claims) {
    auto answers = parts_.claims.claim(transaction_, claims);
    claimed_ = answers.has_value();
    if (claimed_) reached(parts_.observer, Step::after_claims);
    return answers;
}

void UnfencedTransaction::apply(const Effect& effect) {
    expects(claimed_, "keys are claimed before their effect");
    parts_.origin = Origin::sink;
    const std::vector<ResultStore::Stored> results = effect(transaction_);
    transaction_.prepared(sql::sink_constraints);
    parts_.origin = Origin::ours;
    if (parts_.results != nullptr) parts_.results->put(transaction_, results);
}

Settlement UnfencedTransaction::land(const std::function<void(Transaction&)>& replay) {
    expects(claimed_, "keys are claimed before they land");
    reached(parts_.observer, Step::after_sink);
    if (parts_.claims.confirm(transaction_) == Settlement::again) return Settlement::again;
    // DANGER: replay before settle(), which may take the ledger's lock: results may be large, and
    // all of its workers wait for the lock. What another worker was about to commit at the verdicts
    // is committed by now, with its results. What settle() finds is not a duplicate of this attempt
    // but ends it (see Processor::settle()).
    if (replay) replay(transaction_);
    if (parts_.claims.settle(transaction_) == Settlement::again) return Settlement::again;
    if (parts_.results != nullptr && parts_.results->settle(transaction_) == Settlement::again) {
        return Settlement::again;
    }
    reached(parts_.observer, Step::before_commit);
    parts_.origin = Origin::sink;  // A deferred trigger of the user's table may still fail.
    transaction_.commit([this] { parts_.claims.committing(); });
    parts_.origin = Origin::ours;
    parts_.claims.committed();
    if (parts_.results != nullptr) parts_.results->committed();
    reached(parts_.observer, Step::after_commit);
    return Settlement::settled;
}

void UnfencedTransaction::land_at_once(std::vector<Connection::Planned> statements) {
    statements.push_back({sql::sink_constraints, {}, {}});
    transaction_.run_whole(statements, [this] {
        // The server passes these steps while this process waits for it.
        reached(parts_.observer, Step::after_claims);
        reached(parts_.observer, Step::after_sink);
        reached(parts_.observer, Step::before_commit);
        parts_.claims.committing();
    });
    parts_.claims.committed();
    if (parts_.results != nullptr) parts_.results->committed();
    reached(parts_.observer, Step::after_commit);
}

}  // namespace onceward
