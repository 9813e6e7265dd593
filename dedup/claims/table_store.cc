#include "dedup/claims/table_store.h"

#include "dedup/claims/ledger_memory.h"
#include "dedup/postgres/binary.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::string_view unique_violation = "23505";
// With fewer rows, the further round trips of a COPY cost more than it saves.
constexpr std::size_t fewest_copied = 100;
constexpr std::size_t row_bytes = 64;

std::vector<Digest> digests_of(std::span<const Claim> claims) {
    std::vector<Digest> digests;
    digests.reserve(claims.size());
    for (const Claim& claim : claims) digests.push_back(claim.digest);
    return digests;
}

ClaimAnswer earlier(const Claim& claim, const QueryResult& result, int row) {
    std::optional<Digest> fingerprint;
    if (!result.is_null(row, 1)) fingerprint = result.binary_digest(row, 1);
    return earlier_claim(claim, fingerprint);
}

}  // namespace

std::optional<std::vector<ClaimAnswer>> TableStore::claim(Transaction& transaction,
                                                          std::span<const Claim> claims) {
    expect_claim_order(claims);
    std::vector<ClaimAnswer> answers(claims.size());
    if (claims.empty()) return answers;
    // DANGER: take the lock in one statement and read the generations in the next. In one statement
    // the snapshot is older than the lock, and a rotation that we waited for would not be seen.
    transaction.prepared(sql::claims_lock_shared, {ledger_});
    const Generations generations = read_generations(transaction);
    if (generations.current.empty()) try_again("the ledger has no current generation yet");
    if (!generations.sealed.empty()) probe(transaction, generations, claims, answers);
    const std::string ledger = std::to_string(ledger_);
    const Connection::Names current{{"ledger", ledger}, {"generation", generations.current}};
    refuse_unjudged(transaction, current, claims, answers);
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < claims.size(); ++i) {
        if (answers[i].verdict == Verdict::fresh) places.push_back(i);
    }
    if (places.empty()) return answers;
    if (places.size() >= fewest_copied && presumption_.presumes_new()) {
        if (copy(transaction, current, claims, places)) {
            presumption_.was_right();
            return answers;
        }
        presumption_.was_wrong();
        return std::nullopt;
    }
    insert(transaction, current, claims, places, answers);
    return answers;
}

std::vector<bool> TableStore::known(Connection& connection, std::span<const Digest> digests) {
    const std::vector<Claim> claims = claims_of(digests);
    std::vector<ClaimAnswer> answers(claims.size());
    // This transaction is rolled back. Its lock keeps the generations that are listed.
    OwnedTransaction transaction(connection);
    transaction.prepared(sql::claims_lock_shared, {ledger_});
    Generations generations = read_generations(transaction);
    if (!generations.current.empty()) generations.sealed.push_back(generations.current);
    if (!generations.sealed.empty()) probe(transaction, generations, claims, answers);
    return known_of(answers);
}

TableStore::Generations TableStore::read_generations(Transaction& transaction) {
    const QueryResult result = transaction.prepared(sql::generations_list, {ledger_});
    Generations generations;
    for (int row = 0; row < result.rows(); ++row) {
        std::string name(result.text(row, 0));
        if (result.boolean(row, 1)) {
            generations.sealed.push_back(std::move(name));
        } else {
            generations.current = std::move(name);
        }
    }
    if (generations != known_) {
        // DANGER: check the store with the lock held, and whenever the generations have changed: a
        // conversion gives the ledger a new generation, whose tables are those of a log.
        if (transaction.query(sql::claims_store, {ledger_}).text(0, 0) != "table") {
            throw StoreChanged();
        }
        if (known_ != Generations{}) transaction.connection().forget_prepared();
        known_ = generations;
        none_known_ =
            replaced(std::string(sql::claims_none_known), "{probe}", probe_of(generations.sealed));
    }
    return generations;
}

std::string TableStore::probe_of(const std::vector<std::string>& generations) {
    std::string statement;
    for (const std::string& generation : generations) {
        if (!statement.empty()) statement += " UNION ALL ";
        statement += replaced(std::string(sql::claims_probe), "{generation}", generation);
    }
    return statement;
}

// DANGER: only the open generation is checked again, as another one can be added only by sealing
// it. A sealed one that was dropped meanwhile makes the probe fail, and nothing lands.
std::optional<ClaimStore::NewClaims> TableStore::claim_as_new(std::span<const Claim> claims) {
    expect_claim_order(claims);
    // If a key has a time, we have to ask first what the ledger remembers.
    if (known_.current.empty() || has_times(claims)) return std::nullopt;
    const Connection::Names names{{"ledger", std::to_string(ledger_)},
                                  {"generation", known_.current}};
    NewClaims made{.statements = {}, .generation = known_.current};
    if (!known_.sealed.empty()) {
        made.statements.push_back({none_known_, {digests_of(claims)}, names});
    }
    ClaimColumns columns;
    for (const Claim& claim : claims) columns.add(claim);
    made.statements.push_back(
        {sql::claims_insert_new,
         {columns.digests, columns.fingerprints, columns.offsets, columns.partitions, source_},
         names});
    return made;
}

// Sealed generations are immutable, so reading them is free of races.
void TableStore::probe(Transaction& transaction, const Generations& generations,
                       std::span<const Claim> claims, std::vector<ClaimAnswer>& answers) const {
    const std::string ledger = std::to_string(ledger_);
    const std::string statement = probe_of(generations.sealed);
    const std::vector<Digest> digests = digests_of(claims);
    const QueryResult found =
        transaction.prepared(statement, {digests}, {{"ledger", ledger}}, true);
    for (int row = 0; row < found.rows(); ++row) {
        const auto at = static_cast<std::size_t>(found.binary_integer(row, 0) - 1);
        answers[at] = earlier(claims[at], found, row);
    }
}

// Refuses the claims that no generation has and that cannot be judged.
void TableStore::refuse_unjudged(Transaction& transaction, const Connection::Names& current,
                                 std::span<const Claim> claims,
                                 std::vector<ClaimAnswer>& answers) const {
    const auto beyond = beyond_memory(transaction, ledger_, claims);
    std::vector<std::size_t> places;
    std::vector<Digest> digests;
    for (std::size_t i = 0; i < beyond.size(); ++i) {
        if (!beyond[i] || answers[i].verdict != Verdict::fresh) continue;
        answers[i] = *beyond[i];
        places.push_back(i);
        digests.push_back(claims[i].digest);
    }
    if (places.empty()) return;
    const QueryResult known = transaction.prepared(sql::claims_probe, {digests}, current, true);
    for (int row = 0; row < known.rows(); ++row) {
        const std::size_t place =
            places[static_cast<std::size_t>(known.binary_integer(row, 0) - 1)];
        answers[place] = earlier(claims[place], known, row);
    }
}

bool TableStore::copy(Transaction& transaction, const Connection::Names& generation,
                      std::span<const Claim> claims, std::span<const std::size_t> places) const {
    std::string rows(binary::copy_header);
    rows.reserve(places.size() * row_bytes);
    for (const std::size_t place : places) {
        const Claim& claim = claims[place];
        binary::put16(rows, 5);
        binary::put_field(rows, bytes_of(claim.digest));
        binary::put_optional_field(
            rows, claim.fingerprint ? std::optional(bytes_of(*claim.fingerprint)) : std::nullopt);
        binary::put32(rows, 8);
        binary::put64(rows, static_cast<std::uint64_t>(claim.offset.raw()));
        binary::put32(rows, 4);
        binary::put32(rows, static_cast<std::uint32_t>(claim.partition.raw()));
        binary::put32(rows, 4);
        binary::put32(rows, static_cast<std::uint32_t>(source_));
    }
    rows.append(binary::copy_trailer);
    try {
        transaction.copy_begin(sql::claims_copy, generation);
        transaction.copy_send(rows);
        transaction.copy_end();
        return true;
    } catch (const PostgresError& error) {
        if (error.sqlstate() != unique_violation) throw;
        return false;
    }
}

void TableStore::insert(Transaction& transaction, const Connection::Names& generation,
                        std::span<const Claim> claims, std::span<const std::size_t> places,
                        std::vector<ClaimAnswer>& answers) const {
    ClaimColumns wanted;
    for (const std::size_t place : places) wanted.add(claims[place]);
    const QueryResult inserted = transaction.prepared(
        sql::claims_insert,
        {wanted.digests, wanted.fingerprints, wanted.offsets, wanted.partitions, source_},
        generation, true);
    if (static_cast<std::size_t>(inserted.rows()) == places.size()) return;
    // RETURNING keeps the order of the insert: what is missing from it was claimed by somebody
    // else.
    std::vector<std::size_t> lost;
    std::vector<Digest> lost_digests;
    int row = 0;
    for (const std::size_t place : places) {
        if (row < inserted.rows() && inserted.binary_digest(row, 0) == claims[place].digest) {
            ++row;
            continue;
        }
        lost.push_back(place);
        lost_digests.push_back(claims[place].digest);
    }
    // DANGER: this has to be a further statement, with a snapshot of its own. The winner may have
    // committed after the insert's snapshot. If it were read in the same statement, its fingerprint
    // would be missing, and a conflict would be taken for a duplicate.
    const QueryResult winners =
        transaction.prepared(sql::claims_probe, {lost_digests}, generation, true);
    if (static_cast<std::size_t>(winners.rows()) != lost.size()) {
        try_again("the conflicting claim was removed during the check");
    }
    for (int found = 0; found < winners.rows(); ++found) {
        const std::size_t place =
            lost[static_cast<std::size_t>(winners.binary_integer(found, 0) - 1)];
        answers[place] = earlier(claims[place], winners, found);
    }
}

std::vector<std::vector<ClaimPlace>> TableStore::places(Transaction& transaction,
                                                        std::span<const Claim> claims) {
    // The same ones as in claim(), since the ledger's lock is held.
    Generations generations = read_generations(transaction);
    generations.sealed.push_back(generations.current);
    const std::vector<Digest> digests = digests_of(claims);
    ClaimPlaces places(claims);
    for (const std::string& generation : generations.sealed) {
        const std::string table = "claims_" + std::to_string(ledger_) + "_" + generation;
        places.take(transaction.query(sql::explain_claim, {digests}, {{"table", table}}));
    }
    return std::move(places.all);
}

}  // namespace onceward
