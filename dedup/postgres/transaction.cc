#include "dedup/postgres/transaction.h"

#include "dedup/mutants.h"

namespace onceward {

Result Transaction::query(std::string_view sql, const Parameters& parameters,
                          const Connection::Names& names) {
    return connection_.query(sql, parameters, names);
}

Result Transaction::prepared(std::string_view sql, const Parameters& parameters,
                             const Connection::Names& names, bool binary) {
    return connection_.prepared(sql, parameters, names, binary);
}

void Transaction::commit_now() {
    const Result result = connection_.commit();
    // DANGER: a COMMIT after a swallowed error succeeds with the tag ROLLBACK. Without this line
    // the offset of a transaction that never happened would be committed.
    if (result.tag() != "COMMIT" && !mutant(Mutant::commit_tag_not_looked_at)) {
        throw PostgresError({.sqlstate = "25P02",
                             .message = "COMMIT was answered with ROLLBACK: an error inside the "
                                        "transaction was swallowed",
                             .constraint = {},
                             .column = {},
                             .routine = {}});
    }
}

OwnedTransaction::OwnedTransaction(Connection& connection) : Transaction(connection) {
    connection_.execute("BEGIN ISOLATION LEVEL READ COMMITTED");
}

OwnedTransaction::~OwnedTransaction() {
    if (!open_) return;
    try {
        connection_.rollback();
    } catch (const PostgresError&) {
        // The session is gone, and the transaction with it; the next statement says so.
    }
}

void OwnedTransaction::commit() {
    open_ = false;
    commit_now();
}

}  // namespace onceward
