#pragma once
// One session with PostgreSQL, through libpq. Used by one thread at a time; pid() may be read from
// any. A failure is a PostgresError that names its statement's caller, `where`; after one with
// connection_lost the object is only good for destruction. libpq itself and no wrapper around it:
// the COMMIT's tag, the constraint's name and pipelines are needed here.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dedup/base/secret.h"
#include "dedup/postgres/error.h"
#include "dedup/postgres/values.h"

struct pg_conn;

namespace onceward {

struct ConnectionOptions {
    // libpq connection string or URI; it may hold a password.
    Secret dsn;
    // The schema of our own tables. Default `onceward`.
    std::string schema = "onceward";
    std::string application_name = "onceward";
    // How long to wait for a server to answer at connect. Longer finds slow servers, shorter fails
    // over sooner.
    std::chrono::seconds connect_timeout{5};
    // A statement that runs longer is cancelled by the server (57014, tried again). Never applies
    // to COMMIT.
    std::chrono::milliseconds statement_timeout{60'000};
    // A wait for one lock that is longer fails (55P03, tried again).
    std::chrono::milliseconds lock_timeout{10'000};
    // A session idle inside a transaction for longer is ended by the server: frees a frozen
    // worker's locks.
    std::chrono::milliseconds idle_in_transaction_timeout{30'000};
    // Unacknowledged bytes for longer mean that the peer is gone (RFC 5482), on both ends.
    std::chrono::milliseconds tcp_user_timeout{15'000};
    // How often the server looks whether the client of a running query is still there.
    std::chrono::milliseconds client_check_interval{2'000};
};

class Connection {
  public:
    // Opens the session and sets its limits. Throws PostgresError; ServerRefused for a pooler.
    explicit Connection(const ConnectionOptions& options);

    using Where = std::source_location;
    // One or more statements without parameters; the last one's result.
    QueryResult execute(std::string_view sql, Where where = Where::current());
    // One statement; `{schema}` and each {name} of `names` in it are replaced first (quoted as
    // needed by the caller).
    using Names = std::vector<std::pair<std::string_view, std::string>>;
    QueryResult query(std::string_view sql, const Parameters& parameters, const Names& names = {},
                      Where where = Where::current());
    // The same, prepared once for each session and kept; answers in binary if `binary` says so.
    QueryResult prepared(std::string_view sql, const Parameters& parameters,
                         const Names& names = {}, bool binary = false,
                         Where where = Where::current());
    struct Statement {
        std::string_view sql;
        const Parameters& parameters = no_parameters;
        Names names = {};
    };
    // A statement that waits to be sent. `names` may be views of its maker's own.
    struct Planned {
        std::string_view sql;
        Parameters parameters;
        Names names = {};
    };
    // Statements in one round trip, each with a snapshot of its own, prepared and in binary as
    // above; one result for each. The first that fails throws, with its index, and those after it
    // did not run. `meanwhile` is called while the server works on them; what it throws is rethrown
    // once their answers have been read. REQUIRES: in a transaction, or the first begins one.
    std::vector<QueryResult> pipelined(const std::vector<Statement>& statements,
                                       const std::function<void()>& meanwhile = {},
                                       Where where = Where::current());
    // What became of one group: a result for each statement, or the error of the one that failed.
    struct Answers {
        std::vector<QueryResult> results;
        std::optional<PostgresError> error;
    };
    void forget_prepared(Where where = Where::current());
    // Forgets them if there are more than a session needs at one time. Each generation of a ledger
    // has statements of its own, and those of dropped ones would accumulate.
    void limit_prepared(Where where = Where::current());
    std::size_t prepared_statements() const { return prepared_.size(); }

    // COPY ... FROM STDIN (BINARY): starts, sends, ends. Throws what the server says at the end.
    void copy_begin(std::string_view sql, const Names& names = {}, Where where = Where::current());
    void copy_send(std::string_view bytes, Where where = Where::current());
    std::int64_t copy_end(Where where = Where::current());

    const ConnectionOptions& options() const { return options_; }
    const std::string& schema() const { return options_.schema; }
    int server_version() const;  // such as 150018
    // Which database of which server this is, such as `shop on db.example:5432`; no password.
    std::string database_name() const;
    int pid() const { return pid_; }
    bool in_transaction() const;         // BEGIN was sent and nothing ended it
    bool in_failed_transaction() const;  // an error was swallowed: COMMIT would roll back
    // Whether bytes wait or the peer hung up, without blocking; for idle sessions.
    bool alive();
    // Waits for a notification on a channel that the session listens to; false if none came in
    // time. REQUIRES: no transaction is open. Throws PostgresError if the session is gone.
    bool notified(std::chrono::milliseconds wait, Where where = Where::current());
    std::string quote_identifier(std::string_view name) const;
    pg_conn* raw() { return connection_.get(); }

  private:
    QueryResult take(pg_result* answer, bool committing, Where where);
    // As pipelined(), for many groups in one round trip. The statements of a group after the one
    // that fails do not run; the next group does, in a failed transaction. Throws only if the
    // session fails. REQUIRES: in a transaction. DANGER: `meanwhile` must not throw. The answers
    // would stay unread, and the next statement would get them as its own.
    // `committing`: COMMIT is one more statement of the last group, and a session that is lost
    // meanwhile is in doubt.
    std::vector<Answers> grouped(std::span<const std::vector<Statement>> groups,
                                 const std::function<void()>& meanwhile = {},
                                 Where where = Where::current(), bool committing = false);
    Answers take_group(std::size_t statements, Where where, bool committing);
    // One group: its results, or the error of the statement that failed as an exception. What
    // `meanwhile` throws is rethrown after that.
    std::vector<QueryResult> one_group(const std::vector<Statement>& statements,
                                       const std::function<void()>& meanwhile, Where where,
                                       bool committing);
    struct Finish {
        void operator()(pg_conn* connection) const;
    };
    friend class Transaction;
    friend class OwnedTransaction;
    QueryResult commit(const std::function<void()>& meanwhile, Where where);
    // As pipelined(), with a COMMIT after them, whose answer is the last one.
    std::vector<QueryResult> pipelined_commit(const std::vector<Statement>& statements,
                                              const std::function<void()>& meanwhile, Where where);
    void rollback();
    std::string expand(std::string_view sql, const Names& names) const;
    const std::string& prepare(std::string_view sql, const Parameters& parameters,
                               const Names& names, Where where);
    ConnectionOptions options_;
    std::unique_ptr<pg_conn, Finish> connection_;
    int pid_ = 0;
    int prepared_count_ = 0;
    std::map<std::string, std::string, std::less<>> prepared_;  // expanded SQL -> statement name
};

}  // namespace onceward
