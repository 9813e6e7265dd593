#include "dedup/postgres/transaction.h"

#include "dedup/base/mutants.h"
#include "schemas/queries.h"

namespace onceward {

QueryResult Transaction::query(std::string_view sql, const Parameters& parameters,
                               const Connection::Names& names, Where where) {
    expect_begun(where);
    return connection_.query(sql, parameters, names, where);
}

QueryResult Transaction::prepared(std::string_view sql, const Parameters& parameters,
                                  const Connection::Names& names, bool binary, Where where) {
    expect_begun(where);
    return connection_.prepared(sql, parameters, names, binary, where);
}

std::vector<QueryResult> Transaction::pipelined(std::vector<Connection::Statement> statements,
                                                const std::function<void()>& meanwhile,
                                                Where where) {
    if (begun_) return connection_.pipelined(statements, meanwhile, where);
    begun_ = true;
    std::vector<Connection::Statement> all{{sql::begin}};
    for (Connection::Statement& statement : statements) all.push_back(std::move(statement));
    std::vector<QueryResult> results = connection_.pipelined(all, meanwhile, where);
    results.erase(results.begin());
    return results;
}

void Transaction::limit_lock_wait(std::chrono::milliseconds longest) {
    query(sql::retention_lock_timeout, {std::to_string(longest.count()) + "ms"});
}

namespace {

// DANGER: a COMMIT after a swallowed error succeeds with the tag ROLLBACK. Without this check the
// offset of a transaction that never happened would be committed.
void expect_committed(const QueryResult& commit, const Connection::Where& where) {
    if (commit.tag() == "COMMIT" || mutant("commit_tag_not_looked_at")) return;
    throw PostgresError({.sqlstate = "25P02",
                         .message = "COMMIT was answered with ROLLBACK: an error inside the "
                                    "transaction was swallowed"},
                        where);
}

}  // namespace

void Transaction::commit_now(const std::function<void()>& meanwhile, Where where) {
    expect_committed(connection_.commit(meanwhile, where), where);
}

OwnedTransaction::OwnedTransaction(Connection& connection, Begin begin, Where where)
    : Transaction(connection) {
    begun_ = begin == Begin::now;
    if (begun_) connection_.execute(sql::begin, where);
}

OwnedTransaction::~OwnedTransaction() {
    if (!open_ || !begun_) return;
    try {
        connection_.rollback();
    } catch (const PostgresError&) {
        // The session is gone, and the transaction with it; the next statement says so.
    }
}

void OwnedTransaction::commit(const std::function<void()>& meanwhile, Where where) {
    commit_now(meanwhile, where);
    // If commit_now() throws, the destructor rolls back: the transaction is still open if COMMIT
    // could not be sent.
    open_ = false;
}

std::vector<QueryResult> OwnedTransaction::run_whole(
    std::span<const Connection::Planned> statements, const std::function<void()>& meanwhile,
    Where where) {
    expects(!std::exchange(begun_, true), "a whole transaction is the first that is sent", where);
    std::vector<Connection::Statement> all{{sql::begin}};
    for (const auto& [text, parameters, names] : statements) {
        all.push_back({text, parameters, names});
    }
    std::vector<QueryResult> results = connection_.pipelined_commit(all, meanwhile, where);
    expect_committed(results.back(), where);
    open_ = false;
    results.pop_back();
    results.erase(results.begin());
    return results;
}

}  // namespace onceward
