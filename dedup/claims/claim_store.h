#pragma once
// A ledger as the processor sees it: where the claims of idempotency keys are kept. One object for
// each ledger and user of it: a worker, a session of the gateway, once() or an import. Used by one
// thread, in a worker the writer's; failures are PostgresErrors. The order of calls:
// - partitions_taken;
// - catch_up or follow, outside of transactions;
// - any number of transactions. Each is one of these, and one that fails skips to ended:
//   - claim, confirm, settle, committing, committed, ended;
//   - claim_as_new, committing, committed, ended;
//   - append_as_new, committing, appended_as_new, committed, ended;
// - reconsider, after the sink refused rows and the transaction was rolled back;
// - release_discarded, at any time outside of transactions;
// - release_all, outside of transactions, if partitions_taken comes before the next claim;
// - partitions_lost when partitions leave;
// - connection_lost whenever the session has ended.

#include <map>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dedup/message/digest.h"
#include "dedup/message/message.h"
#include "dedup/postgres/transaction.h"
#include "dedup/postgres/values.h"

namespace onceward {

// One key to be claimed, with the place of the message that carries it.
struct Claim {
    Digest digest;
    std::optional<Digest> fingerprint;
    Partition partition;
    Offset offset;
    // If the key has a time: see dedup/claims/ledger_memory.h.
    std::optional<MintedAt> minted_at{};
};

// Claims as the columns of a statement.
struct ClaimColumns {
    std::vector<Digest> digests;
    std::vector<std::optional<Digest>> fingerprints;
    std::vector<std::int32_t> partitions;
    std::vector<std::int64_t> offsets;

    void add(const Claim& claim) {
        digests.push_back(claim.digest);
        fingerprints.push_back(claim.fingerprint);
        partitions.push_back(claim.partition.raw());
        offsets.push_back(claim.offset.raw());
    }
};

// Whether they are in the order of their digests, and no digest is there twice: what claim()
// requires. Costs one comparison for each claim.
bool in_claim_order(std::span<const Claim> claims);
// Throws BrokenContract if they are not.
void expect_claim_order(std::span<const Claim> claims);

// What the ledger says of a claim. `fingerprint`: the one that the earlier claim carries, for
// followers in the batch.
struct ClaimAnswer {
    Verdict verdict = Verdict::fresh;
    std::optional<Digest> fingerprint;
    // If late: what was minted before this is late. If early: what was minted after it is early.
    MintedAt bound{};
};

// The answer if an earlier claim of the same key is known: a duplicate, or a conflict if both have
// a fingerprint and these differ. Pure.
inline ClaimAnswer earlier_claim(const Claim& claim, const std::optional<Digest>& fingerprint) {
    const bool other = fingerprint && claim.fingerprint && *fingerprint != *claim.fingerprint;
    return {other ? Verdict::conflict : Verdict::duplicate, fingerprint};
}

// What known() looks for. Pure.
inline std::vector<Claim> claims_of(std::span<const Digest> digests) {
    std::vector<Claim> claims;
    claims.reserve(digests.size());
    for (const Digest& digest : digests) claims.push_back({digest, {}, Partition{}, Offset{}});
    return claims;
}
inline std::vector<bool> known_of(std::span<const ClaimAnswer> answers) {
    std::vector<bool> known;
    known.reserve(answers.size());
    for (const ClaimAnswer& answer : answers) known.push_back(answer.verdict != Verdict::fresh);
    return known;
}

// `again`: a key that was presumed fresh was not. Roll back, and process the batch again.
enum class Settlement : std::uint8_t { settled, again };

// The ledger has another store by now: `onceward ledger convert` changed it. The transaction has
// to be rolled back. Register the ledger again, and claim with the store that it has.
class StoreChanged : public std::runtime_error {
  public:
    StoreChanged() : std::runtime_error("the ledger was converted: it has another store by now") {}
};

class ClaimStore {
  public:
    virtual ~ClaimStore() = default;
    // The fences of these partitions are mine and committed. Reads what the store keeps in memory
    // for them.
    virtual void partitions_taken(Connection&, std::span<const TopicPartition>) {}
    virtual void partitions_lost(std::span<const TopicPartition>) {}
    // Outside of any transaction, before each attempt. An attempt may have two transactions: if its
    // one round trip fails, the steps follow without another call. Reads what others have claimed
    // since the last time. May pause for a moment if memory is short.
    virtual void catch_up(Connection&) {}
    // The same without a pause, while the worker has nothing to do: work may arrive meanwhile.
    virtual void follow(Connection& connection) { catch_up(connection); }
    // Frees the memory that the next catch_up() would replace. Does no I/O.
    virtual void release_discarded() {}
    // Frees the memory of a topic that is stopped. Does no I/O. REQUIRES: each partition is taken
    // again before its next batch.
    virtual void release_all() {}
    // Claims each key, before the sink writes. REQUIRES: sorted by digest, no digest twice (two
    // workers that claimed in different orders would deadlock). Answers in the same order. Returns
    // nullopt if a key that was presumed new was there already: the transaction has failed, so roll
    // back, and process the batch again. Throws StoreChanged.
    virtual std::optional<std::vector<ClaimAnswer>> claim(Transaction& transaction,
                                                          std::span<const Claim> claims) = 0;
    // The statements that claim these keys if each of them is new, and fail otherwise: for a
    // transaction in one round trip, which holds the ledger's lock by then. nullopt if the store
    // cannot say without asking first. REQUIRES: as claim().
    struct NewClaims {
        std::vector<Connection::Planned> statements;
        std::string generation;  // the claims go there, or the statements fail
    };
    virtual std::optional<NewClaims> claim_as_new(std::span<const Claim>) { return std::nullopt; }
    // Whether append_as_new() ever has statements.
    virtual bool appends_as_new() const { return false; }
    // Like claim_as_new(), for a store that claims after the rows are written. The statements take
    // the ledger's lock, and fail if one of the keys is known. They come last, after no_limits.
    // Called outside of a transaction. Returns nullopt if one of the keys may be known. REQUIRES:
    // as claim().
    virtual std::optional<std::vector<Connection::Planned>> append_as_new(std::span<const Claim>) {
        return std::nullopt;
    }
    // COMMIT was answered: the results of those statements. committed() comes next.
    virtual void appended_as_new(std::span<const QueryResult>) {}
    // Called after claim(), in its transaction: the places of the earlier claims with which these
    // conflict. One answer for each claim, in their order; empty if the ledger cannot tell.
    virtual std::vector<std::vector<ClaimPlace>> places(Transaction&, std::span<const Claim>) {
        return {};
    }
    // Returns, in the order of `digests`, whether a committed claim exists. Call it outside a
    // transaction. The answer may be stale at once and must not decide anything. Implemented only
    // by ledgers that serve HTTP requests.
    virtual std::vector<bool> known(Connection&, std::span<const Digest>) {
        throw std::logic_error("this ledger does not answer what it knows");
    }
    // Called after the sink refused its rows because of their content and the transaction was
    // rolled back. Returns whether somebody else claimed a key meanwhile that claim() presumed
    // fresh: then the other's rows may have caused the refusal, and the batch is processed again.
    virtual bool reconsider(Connection&) { return false; }
    // Waits, a moment at most, for the transactions of this process that claim() relied on.
    // Afterwards it is known whether they were committed. Takes no lock of the ledger.
    virtual Settlement confirm(Transaction&) { return Settlement::settled; }
    // Called just before COMMIT, after confirm(): validates and appends what claim() presumed. The
    // table store has nothing to do.
    virtual Settlement settle(Transaction&) { return Settlement::settled; }
    // COMMIT was sent, and may fail. Nothing is known yet, but what committed() will need can be
    // made ready.
    virtual void committing() {}
    // COMMIT was answered: what this transaction claimed may now be known to memory.
    virtual void committed() {}
    // The transaction has ended, committed or not.
    virtual void ended() {}
    // DANGER: what memory knew belongs to the lost session; a fail-over may have lost commits.
    // Forget all of it.
    virtual void connection_lost() {}
};

// Informs the ledger, if there is one, that the transaction has ended, committed or not. Made
// before the transaction, so that it ends after it.
class Ending {
  public:
    explicit Ending(ClaimStore* claims) : claims_(claims) {}
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;
    ~Ending() {
        if (claims_ != nullptr) claims_->ended();
    }

  private:
    ClaimStore* claims_;
};

// The places of the earlier claims that messages in conflict met, in the order of the claims. Used
// by one thread, in the batch's transaction; borrows nothing. Failures are PostgresErrors.
class ClaimPlaces {
  public:
    explicit ClaimPlaces(std::span<const Claim> claims);
    // The claims that were asked for, and the part of a segment for each: the same key in another
    // part may be another claim.
    using Parts = std::set<std::pair<std::size_t, int>>;
    // From the rows of sql::explain_claim; with `asked` from those of explain_segment_claim or
    // explain_parts_claim.
    void take(const QueryResult& rows, const Parts* asked = nullptr);
    // From the rows of sql::log_places; `claims` by the seq of their batch.
    void take_batches(const QueryResult& rows,
                      const std::multimap<std::int64_t, std::size_t>& claims);
    std::vector<std::vector<ClaimPlace>> all;

  private:
    std::multimap<std::string, std::size_t, std::less<>> by_digest_;  // as PostgreSQL prints it
};

}  // namespace onceward
