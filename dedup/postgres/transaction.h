#pragma once
// A transaction as an object. Transaction is what a sink gets: it cannot commit. OwnedTransaction
// is for the short list of files that may open one; commit() is the last line of its scope, and
// leaving without it rolls back. Used by one thread; failures are PostgresErrors; after one nothing
// but leaving the scope is of use.

#include "dedup/base/expects.h"
#include "dedup/postgres/connection.h"

namespace onceward {

class Transaction {
  public:
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    using Where = Connection::Where;  // whom an error names
    // Apart from pipelined(), what follows REQUIRES: the transaction has begun.
    QueryResult query(std::string_view sql, const Parameters& parameters = {},
                      const Connection::Names& names = {}, Where where = Where::current());
    QueryResult prepared(std::string_view sql, const Parameters& parameters = {},
                         const Connection::Names& names = {}, bool binary = false,
                         Where where = Where::current());
    // As Connection's. If BEGIN was not sent yet, it is sent before these, in the same round trip.
    std::vector<QueryResult> pipelined(std::vector<Connection::Statement> statements,
                                       const std::function<void()>& meanwhile = {},
                                       Where where = Where::current());
    // As Connection's.
    std::vector<Connection::Answers> grouped(
        std::span<const std::vector<Connection::Statement>> groups,
        Where where = Where::current()) {
        expect_begun(where);
        return connection_.grouped(groups, {}, where);
    }
    void copy_begin(std::string_view sql, const Connection::Names& names = {},
                    Where where = Where::current()) {
        expect_begun(where);
        connection_.copy_begin(sql, names, where);
    }
    void copy_send(std::string_view bytes, Where where = Where::current()) {
        connection_.copy_send(bytes, where);
    }
    std::int64_t copy_end(Where where = Where::current()) { return connection_.copy_end(where); }
    // For the rest of the transaction, in place of the session's.
    void limit_lock_wait(std::chrono::milliseconds longest);
    // The session, for quoting and catalog look-ups inside this transaction.
    Connection& connection() { return connection_; }

  protected:
    explicit Transaction(Connection& connection) : connection_(connection) {}
    ~Transaction() = default;
    // Throws PostgresError: in_doubt if the answer was lost, 25P02 if the server rolled back
    // instead.
    void commit_now(const std::function<void()>& meanwhile, Where where);
    // A statement that is sent before BEGIN would commit by itself.
    void expect_begun(const Where& where) const {
        expects(begun_, "nothing is sent before BEGIN", where);
    }
    Connection& connection_;
    bool begun_ = true;
};

class OwnedTransaction final : public Transaction {
  public:
    // `with_first`: BEGIN is sent in the round trip of the first pipelined() or run_whole().
    // REQUIRES: nothing else is called before that.
    enum class Begin : std::uint8_t { now, with_first };
    explicit OwnedTransaction(Connection& connection, Begin begin = Begin::now,
                              Where where = Where::current());
    ~OwnedTransaction();
    // DANGER: between sending COMMIT and its answer the outcome is in doubt. Never resolve it by a
    // SELECT. `meanwhile` is called in between, and must not take the transaction for committed.
    void commit(const std::function<void()>& meanwhile = {}, Where where = Where::current());
    // All of the transaction in one round trip: BEGIN, these statements, COMMIT. The server skips
    // what follows a statement that fails, COMMIT too; then nothing has landed. In doubt if the
    // session is lost at any point. Returns a result for each statement. REQUIRES: made
    // `with_first`, and nothing has been sent yet.
    std::vector<QueryResult> run_whole(std::span<const Connection::Planned> statements,
                                       const std::function<void()>& meanwhile = {},
                                       Where where = Where::current());

  private:
    bool open_ = true;
};

}  // namespace onceward
