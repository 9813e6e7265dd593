#include "dedup/leases/leases.h"

#include <deque>
#include <map>

#include "dedup/base/mutants.h"
#include "dedup/claims/ledger_memory.h"
#include "dedup/message/digest.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

LeaseVerdict verdict_of(std::int64_t state) {
    if (state == 0) return LeaseVerdict::in_flight;
    return state == 1 ? LeaseVerdict::done : LeaseVerdict::failed;
}

// Converts a row of lease_look to an answer to the claim that it blocks.
LeaseAnswer answer_of(const QueryResult& found, int row, const Claim& claim) {
    LeaseAnswer answer;
    answer.verdict = verdict_of(found.binary_integer(row, 1));
    answer.own_place = found.binary_integer(row, 2) == 1;
    answer.counted = found.binary_integer(row, 3) == 1;
    answer.left = std::chrono::milliseconds(found.binary_integer(row, 4));
    // A message is never in conflict with what it has done itself.
    if (answer.own_place || found.is_null(row, 5) || !claim.fingerprint) return answer;
    const Digest fingerprint = found.binary_digest(row, 5);
    if (fingerprint == *claim.fingerprint) return answer;
    const Offset offset{found.binary_integer(row, 9)};
    answer.verdict = LeaseVerdict::conflict;
    answer.earlier =
        EarlierClaim{fingerprint,
                     {ClaimPlace{std::string(found.optional_text(row, 6).value_or("")),
                                 std::string(found.optional_text(row, 7).value_or("")),
                                 Partition{static_cast<std::int32_t>(found.binary_integer(row, 8))},
                                 offset, offset}}};
    return answer;
}

bool is_refused(const LeaseAnswer& answer) {
    return answer.verdict == LeaseVerdict::late || answer.verdict == LeaseVerdict::early;
}

// A text that PostgreSQL surely accepts, even if the other side sent other bytes.
std::string plain(std::string text) {
    for (char& letter : text) {
        if (letter < ' ' || letter > '~') letter = '?';
    }
    return text;
}

std::vector<Digest> digests_of(const QueryResult& result) {
    std::vector<Digest> digests;
    for (int row = 0; row < result.rows(); ++row) digests.push_back(result.binary_digest(row, 0));
    return digests;
}

struct Tries {
    std::vector<Digest> digests;
    std::vector<std::int32_t> tries;

    explicit Tries(std::span<const LeaseTries> mine) {
        for (const LeaseTries& one : mine) {
            digests.push_back(one.digest);
            tries.push_back(one.tries);
        }
    }
};

}  // namespace

Leases::Leases(RegisteredLedger registered, std::chrono::milliseconds lease)
    : registered_(registered), lease_(lease), token_(new_uuid()) {}

Leases::Leases(RegisteredLedger registered, std::chrono::milliseconds lease, const Digest& token)
    : registered_(registered), lease_(lease), token_(uuid_text(token)) {}

std::vector<LeaseAnswer> Leases::claim(Transaction& transaction, const BatchContext& context,
                                       std::span<const Claim> claims) {
    expect_claim_order(claims);
    std::vector<LeaseAnswer> answers(claims.size());
    if (claims.empty()) return answers;
    refuse_unjudged(transaction, context, claims, answers);
    ClaimColumns all;
    for (std::size_t i = 0; i < claims.size(); ++i) {
        if (!is_refused(answers[i])) all.add(claims[i]);
    }
    if (all.digests.empty()) return answers;
    const QueryResult taken = transaction.prepared(
        sql::lease_claim,
        {registered_.ledger, token_, lease_.count(), registered_.source, context.consumer_group,
         context.topic, all.digests, all.fingerprints, all.partitions, all.offsets},
        {}, true);
    std::map<Digest, int> rows;
    for (int row = 0; row < taken.rows(); ++row) rows[taken.binary_digest(row, 0)] = row;
    std::vector<std::size_t> others;
    ClaimColumns rest;
    for (std::size_t i = 0; i < claims.size(); ++i) {
        if (is_refused(answers[i])) continue;
        const auto mine = rows.find(claims[i].digest);
        if (mine != rows.end()) {
            answers[i].attempts = static_cast<int>(taken.binary_integer(mine->second, 1));
            answers[i].taken_over = taken.binary_integer(mine->second, 2) == 1;
            continue;
        }
        others.push_back(i);
        rest.add(claims[i]);
    }
    if (others.empty()) return answers;
    // DANGER: a separate statement, for a snapshot of its own. The conflicting claim may
    // have been committed after the first statement's snapshot.
    const QueryResult found = look(transaction, context, rest);
    if (static_cast<std::size_t>(found.rows()) != others.size()) {
        try_again("the conflicting lease was removed during the check");
    }
    for (int row = 0; row < found.rows(); ++row) {
        const std::size_t claim =
            others[static_cast<std::size_t>(found.binary_integer(row, 0) - 1)];
        answers[claim] = answer_of(found, row, claims[claim]);
    }
    return answers;
}

QueryResult Leases::look(Transaction& transaction, const BatchContext& context,
                         const ClaimColumns& wanted) {
    return transaction.prepared(sql::lease_look,
                                {registered_.ledger, registered_.source, context.consumer_group,
                                 context.topic, wanted.digests, wanted.partitions, wanted.offsets},
                                {}, true);
}

// Refuses the claims that have no row and cannot be judged. The ledger's lock keeps the rows that
// exist.
void Leases::refuse_unjudged(Transaction& transaction, const BatchContext& context,
                             std::span<const Claim> claims, std::vector<LeaseAnswer>& answers) {
    if (!has_times(claims)) return;
    // DANGER: take the lock in one statement and read the rows in the next. In one statement the
    // snapshot is older than the lock, and an expiry that the lock waited for would not be seen.
    transaction.prepared(sql::claims_lock_shared, {registered_.ledger});
    const auto beyond = beyond_memory(transaction, registered_.ledger, claims);
    ClaimColumns asked;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < beyond.size(); ++i) {
        if (!beyond[i]) continue;
        answers[i].verdict =
            beyond[i]->verdict == Verdict::late ? LeaseVerdict::late : LeaseVerdict::early;
        asked.add(claims[i]);
        places.push_back(i);
    }
    if (places.empty()) return;
    const QueryResult known = look(transaction, context, asked);
    for (int row = 0; row < known.rows(); ++row) {
        const auto place = static_cast<std::size_t>(known.binary_integer(row, 0) - 1);
        answers[places[place]].verdict = LeaseVerdict::mine;
    }
}

LeaseAnswer Leases::claim_request(Transaction& transaction, const Claim& claim, bool take_over) {
    std::vector<LeaseAnswer> judged(1);
    refuse_unjudged(transaction, {}, {&claim, 1}, judged);
    if (is_refused(judged.front())) return judged.front();
    const QueryResult taken =
        transaction.prepared(sql::lease_claim_request,
                             {registered_.ledger, token_, lease_.count(), claim.digest,
                              std::span(&claim.fingerprint, 1), registered_.source, take_over},
                             {}, true);
    LeaseAnswer answer;
    if (taken.rows() == 1) {
        answer.attempts = static_cast<int>(taken.binary_integer(0, 0));
        answer.taken_over = taken.binary_integer(0, 1) == 1;
        return answer;
    }
    ClaimColumns columns;
    columns.add(claim);
    // DANGER: a further statement, as in claim().
    const QueryResult found = look(transaction, {}, columns);
    if (found.rows() != 1) try_again("the conflicting lease was removed during the check");
    return answer_of(found, 0, claim);
}

void Leases::release_request(Connection& connection, const Digest& digest) {
    connection.prepared(sql::lease_release_request, {registered_.ledger, token_, digest});
}

std::vector<Digest> Leases::extend(Connection& connection, std::span<const LeaseTries> mine) {
    const Tries columns(mine);
    return digests_of(connection.prepared(
        without_owner(sql::lease_extend, "extended_by_a_stale_owner"),
        {registered_.ledger, token_, lease_.count(), columns.digests, columns.tries}, {}, true));
}

void Leases::release(Connection& connection, std::span<const LeaseTries> mine) {
    const Tries columns(mine);
    connection.prepared(without_owner(sql::lease_release, "released_by_a_stale_owner"),
                        {registered_.ledger, token_, columns.digests, columns.tries});
}

std::vector<Digest> Leases::finish(Transaction& transaction, std::span<const LeaseEnd> ends,
                                   bool results_kept, std::span<const Digest> passed) {
    std::vector<Digest> digests;
    std::vector<std::optional<std::string_view>> states, reasons;
    std::vector<std::int32_t> statuses, counted;
    std::deque<std::string> owned;
    for (const LeaseEnd& end : ends) {
        digests.push_back(end.digest);
        states.emplace_back(end.failed ? "failed" : "done");
        counted.push_back(end.counted ? 1 : 0);
        statuses.push_back(end.status);
        reasons.emplace_back(owned.emplace_back(plain(end.reason)));
    }
    return digests_of(
        transaction.prepared(without_owner(sql::lease_finish, "ended_by_a_stale_owner"),
                             {registered_.ledger, token_, digests, states, counted, statuses,
                              reasons, results_kept, passed},
                             {}, true));
}

void Leases::count(Transaction& transaction, std::span<const Digest> passed) {
    transaction.prepared(sql::lease_count, {registered_.ledger, passed});
}

}  // namespace onceward
