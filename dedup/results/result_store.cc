#include "dedup/results/result_store.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>

#include "dedup/postgres/values.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

MessageResult::Kind kind_of(std::string_view text) {
    return text == to_text(MessageResult::Kind::failed) ? MessageResult::Kind::failed
                                                        : MessageResult::Kind::done;
}

// Each number of rows up to this is a prepared statement of its own.
constexpr std::size_t most_in_few = 8;

// The columns of results_insert_few.
constexpr std::array<std::string_view, 7> types_of_few{
    "uuid", "uuid", "bytea", "text", "integer", "text::jsonb", "bytea"};

Connection::Planned insert_few(std::span<const ResultStore::Stored* const> results) {
    Parameters values;
    for (const ResultStore::Stored* stored : results) {
        values.digest(stored->digest);
        if (stored->attempt) {
            values.digest(*stored->attempt);
        } else {
            values.null();
        }
        values.bytes(stored->tenant)
            .text(to_text(stored->result.kind))
            .integer(stored->result.status)
            .text(headers_json(stored->result.headers))
            .bytes(stored->result.body);
    }
    return {sql::results_insert_few,
            std::move(values),
            {{"rows", rows_of_parameters(results.size(), types_of_few)}}};
}

Connection::Planned insert_arrays(std::span<const ResultStore::Stored* const> results) {
    std::vector<Digest> digests;
    std::vector<std::optional<Digest>> attempts;
    std::vector<std::optional<std::string_view>> tenants, kinds, headers, bodies;
    std::vector<std::int32_t> statuses;
    std::vector<std::string> header_texts;
    header_texts.reserve(results.size());
    for (const ResultStore::Stored* stored : results) {
        digests.push_back(stored->digest);
        attempts.push_back(stored->attempt);
        tenants.emplace_back(stored->tenant);
        kinds.emplace_back(to_text(stored->result.kind));
        statuses.push_back(stored->result.status);
        headers.emplace_back(header_texts.emplace_back(headers_json(stored->result.headers)));
        bodies.emplace_back(stored->result.body);
    }
    return {sql::results_insert,
            Parameters{digests, attempts}
                .byte_strings(tenants)
                .texts(kinds)
                .small_integers(statuses)
                .texts(headers)
                .byte_strings(bodies),
            {}};
}

}  // namespace

// Includes about what the containers take for an entry and a header.
std::size_t ResultCache::bytes_of(const Entry& entry) {
    std::size_t bytes = sizeof(Item) + 96 + entry.result.body.size();
    for (const auto& [name, value] : entry.result.headers) {
        bytes += 64 + name.size() + value.size();
    }
    return bytes;
}

const ResultCache::Entry* ResultCache::find(const Digest& digest) {
    const auto place = places_.find(digest);
    if (place == places_.end()) return nullptr;
    items_.splice(items_.begin(), items_, place->second);
    return &place->second->second;
}

void ResultCache::erase(std::list<Item>::iterator item) {
    bytes_ -= bytes_of(item->second);
    places_.erase(item->first);
    items_.erase(item);
}

void ResultCache::put(const Digest& digest, Entry entry) {
    if (const auto known = places_.find(digest); known != places_.end()) erase(known->second);
    const std::size_t bytes = bytes_of(entry);
    if (bytes > most_bytes_) return;
    while (bytes_ + bytes > most_bytes_) erase(std::prev(items_.end()));
    items_.emplace_front(digest, std::move(entry));
    places_.emplace(digest, items_.begin());
    bytes_ += bytes;
}

void ResultCache::clear() {
    places_.clear();
    items_.clear();
    bytes_ = 0;
}

bool ResultStore::State::lists(std::int64_t generation) const {
    return std::ranges::find(generations, generation) != generations.end();
}

ResultStore::ResultStore(int ledger, StoreKind store, std::size_t cache_bytes)
    : ledger_(ledger), store_(store), cache_(cache_bytes) {}

void ResultStore::begin() {
    put_into_.reset();
    first_erasures_.reset();
    stored_.clear();
}

ResultStore::State ResultStore::look(Connection& connection) {
    const QueryResult rows = connection.prepared(sql::results_state, {ledger_}, {}, true);
    State state;
    for (int row = 0; row < rows.rows(); ++row) {
        state.generations.push_back(rows.binary_integer(row, 0));
        if (rows.binary_integer(row, 1) == 1) state.open = state.generations.back();
        // DANGER: an evicted key may have been applied again, with another result; and erased
        // results of a tenant must not be returned.
        if (rows.binary_integer(row, 2) != evictions_ || rows.binary_integer(row, 3) != erasures_) {
            cache_.clear();
            evictions_ = rows.binary_integer(row, 2);
            erasures_ = rows.binary_integer(row, 3);
        }
        if (!first_erasures_) first_erasures_ = erasures_;
    }
    // Statements of dropped tables must not accumulate.
    if (!known_.generations.empty() && state.generations != known_.generations) {
        connection.forget_prepared();
    }
    known_ = state;
    return state;
}

void ResultStore::put(Transaction& transaction, std::span<const Stored> results) {
    if (results.empty()) return;
    // DANGER: a `lease` ledger's transactions do not hold its lock otherwise. If a generation were
    // sealed between this read and the COMMIT, its results would be dropped before the keys that
    // they belong to, and an erasure of a tenant would miss what is not committed yet.
    if (store_ == StoreKind::lease) {
        transaction.prepared(sql::claims_lock_shared, {ledger_});
    }
    const State state = look(transaction.connection());
    if (!state.open) {
        throw std::runtime_error("the ledger has no place for results; it is prepared again");
    }
    const Connection::Planned insert = insert_of(results, *state.open);
    transaction.prepared(insert.sql, insert.parameters, insert.names);
    note(results, *state.open);
}

std::optional<Connection::Planned> ResultStore::put_as_new(std::string_view generation,
                                                           std::span<const Stored> results) {
    if (!known_.open || std::to_string(*known_.open) != generation) return std::nullopt;
    note(results, *known_.open);
    return insert_of(results, *known_.open);
}

void ResultStore::note(std::span<const Stored> results, std::int64_t generation) {
    put_into_ = generation;
    for (const Stored& stored : results) stored_.insert_or_assign(stored.digest, stored.result);
}

Connection::Planned ResultStore::insert_of(std::span<const Stored> results,
                                           std::int64_t generation) const {
    // In the same order in all transactions: with a log's claims, two that store one key meet here.
    std::vector<const Stored*> ordered;
    for (const Stored& stored : results) ordered.push_back(&stored);
    std::ranges::sort(ordered, {}, [](const Stored* stored) { return stored->digest; });
    Connection::Planned insert =
        ordered.size() <= most_in_few ? insert_few(ordered) : insert_arrays(ordered);
    insert.names.emplace_back("ledger", std::to_string(ledger_));
    insert.names.emplace_back("generation", std::to_string(generation));
    return insert;
}

std::vector<ResultStore::Row> ResultStore::read(Connection& connection, const State& state,
                                                std::span<const Digest> digests) const {
    std::vector<Row> found;
    if (digests.empty() || state.generations.empty()) return found;
    std::string statement;
    for (const std::int64_t generation : state.generations) {
        if (!statement.empty()) statement += " UNION ALL ";
        statement +=
            replaced(std::string(sql::results_probe), "{generation}", std::to_string(generation));
    }
    try {
        const std::string ledger = std::to_string(ledger_);
        const QueryResult rows =
            connection.prepared(statement, {digests}, {{"ledger", ledger}}, true);
        for (int row = 0; row < rows.rows(); ++row) {
            Row& read = found.emplace_back();
            read.place = static_cast<std::size_t>(rows.binary_integer(row, 0) - 1);
            read.generation = rows.binary_integer(row, 1);
            MessageResult& result = read.found.result;
            result.kind = kind_of(rows.text(row, 2));
            result.status = static_cast<int>(rows.binary_integer(row, 3));
            result.headers = headers_from_json(rows.text(row, 4));
            result.body = rows.text(row, 5);
            if (!rows.is_null(row, 6)) read.found.attempt = rows.binary_digest(row, 6);
        }
    } catch (const PostgresError& error) {
        if (!table_is_gone(error)) throw;
        try_again("a generation of results was dropped during the read");
    }
    // A key whose lease was deleted and recreated may have a result in an older generation as well:
    // the newest comes last, and counts.
    std::ranges::stable_sort(found, {}, &Row::generation);
    return found;
}

std::vector<std::optional<MessageResult>> ResultStore::get(Transaction& transaction,
                                                           std::span<const Digest> digests) {
    return get(transaction.connection(), digests);
}

std::vector<std::optional<MessageResult>> ResultStore::get(Connection& connection,
                                                           std::span<const Digest> digests) {
    std::vector<std::optional<MessageResult>> found(digests.size());
    if (digests.empty()) return found;
    const State state = look(connection);
    std::vector<std::size_t> places;
    std::vector<Digest> wanted;
    for (std::size_t at = 0; at < digests.size(); ++at) {
        const ResultCache::Entry* known = cache_.find(digests[at]);
        // DANGER: a generation that is gone took its claims with it. Another worker may have
        // applied the key again since.
        if (known != nullptr && state.lists(known->generation)) {
            found[at] = known->result;
            continue;
        }
        places.push_back(at);
        wanted.push_back(digests[at]);
    }
    for (Row& row : read(connection, state, wanted)) {
        const Digest& digest = wanted[row.place];
        // DANGER: what this transaction stored itself is read as well, and is not committed yet.
        if (!stored_.contains(digest)) cache_.put(digest, {row.generation, row.found.result});
        found[places[row.place]] = std::move(row.found.result);
    }
    return found;
}

std::optional<ResultStore::Found> ResultStore::find(Transaction& transaction,
                                                    const Digest& digest) {
    Connection& connection = transaction.connection();
    const State state = look(connection);
    std::vector<Row> rows = read(connection, state, {&digest, 1});
    if (rows.empty()) return std::nullopt;
    return std::move(rows.back().found);
}

bool ResultStore::erased(Transaction& transaction) const {
    const QueryResult now = transaction.prepared(sql::results_erasures, {ledger_}, {}, true);
    return now.rows() != 1 || now.binary_integer(0, 0) != first_erasures_;
}

// With other stores the ledger's lock, which is held since before put(), prevents a rotation.
Settlement ResultStore::settle(Transaction& transaction) {
    if (!put_into_ || store_ != StoreKind::log) return Settlement::settled;
    // DANGER: this comes after the claims' settle(), which holds the ledger's lock by now.
    const QueryResult open = transaction.prepared(sql::results_open, {ledger_}, {}, true);
    const bool same = open.rows() == 1 && open.binary_integer(0, 0) == *put_into_;
    return same ? Settlement::settled : Settlement::again;
}

void ResultStore::committed() {
    if (put_into_) {
        for (auto& [digest, result] : stored_) cache_.put(digest, {*put_into_, std::move(result)});
    }
    begin();
}

void ResultStore::connection_lost() {
    begin();
    cache_.clear();
    known_ = {};
}

}  // namespace onceward
