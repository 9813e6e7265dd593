#include "dedup/postgres/connection.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <exception>

#include "dedup/base/expects.h"
#include "dedup/base/logging.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

std::string field(const PGresult* result, int code) {
    const char* text = PQresultErrorField(result, code);
    return text == nullptr ? std::string() : std::string(text);
}

constexpr const char* commit_statement = "COMMIT";

// Notices may quote rows, so they are not logged.
void quiet(void*, const PGresult*) {}

// 01000 at a COMMIT: its wait for a standby was cut short, and it is committed here alone.
// Elsewhere it is any warning, such as one that a trigger of the user raises.
void commit_notice(void*, const PGresult* result) {
    if (field(result, PG_DIAG_SQLSTATE) == "01000") {
        log(LogLevel::warning, "postgres.not_replicated", {{"sqlstate", "01000"}});
    }
}

// The first version that knows every setting of session_settings.sql.
constexpr int oldest_settings = 140000;

PostgresError failure(PGconn* connection, const PGresult* result, bool committing,
                      const std::source_location& where, int statement = 0) {
    // After either of these the server ends the session, though libpq may not have seen it yet.
    const std::string severity = field(result, PG_DIAG_SEVERITY_NONLOCALIZED);
    // DANGER: if there is no answer, libpq itself failed, for example because it got no memory. It
    // may have sent COMMIT already, and the next answer that is read may be that of COMMIT.
    const bool lost = result == nullptr || PQstatus(connection) != CONNECTION_OK ||
                      severity == "FATAL" || severity == "PANIC";
    PostgresError::Diagnosis diagnosis{
        .sqlstate = field(result, PG_DIAG_SQLSTATE),
        .message = field(result, PG_DIAG_MESSAGE_PRIMARY),
        .constraint = field(result, PG_DIAG_CONSTRAINT_NAME),
        .column = field(result, PG_DIAG_COLUMN_NAME),
        .routine = field(result, PG_DIAG_SOURCE_FUNCTION),
        .statement = statement,
        .connection_lost = lost,
        // An error answer that came whole is definite (a deferred constraint, a serialization
        // failure); a connection that broke under a COMMIT is not, whatever SQLSTATE libpq or the
        // server gave with it.
        .in_doubt = committing && lost};
    if (diagnosis.message.empty()) diagnosis.message = PQerrorMessage(connection);
    if (diagnosis.sqlstate == "42501") {
        // Says to which role the right has to be given.
        const char* role = PQuser(connection);
        if (role != nullptr) diagnosis.message += " (asked as role " + std::string(role) + ")";
    }
    return PostgresError(std::move(diagnosis), where);
}

// Runs `work` while answers are on their way. What it throws is kept until all of them were read:
// an unread answer would be taken for the next statement's.
class Meanwhile {
  public:
    explicit Meanwhile(const std::function<void()>& work) {
        try {
            if (work) work();
        } catch (...) {
            thrown_ = std::current_exception();
        }
    }
    void rethrow() const {
        if (thrown_) std::rethrow_exception(thrown_);
    }

  private:
    std::exception_ptr thrown_;
};

}  // namespace

void Connection::Finish::operator()(pg_conn* connection) const { PQfinish(connection); }

Connection::Connection(const ConnectionOptions& options) : options_(options) {
    const std::string timeout = std::to_string(options.connect_timeout.count());
    const std::string user_timeout = std::to_string(options.tcp_user_timeout.count());
    // The dsn comes last, so that what the user wrote there wins.
    const char* const names[] = {"connect_timeout",     "tcp_user_timeout", "keepalives_idle",
                                 "keepalives_interval", "keepalives_count", "client_encoding",
                                 "application_name",    "dbname",           nullptr};
    const char* const values[] = {timeout.c_str(),
                                  user_timeout.c_str(),
                                  "10",
                                  "5",
                                  "3",
                                  "UTF8",
                                  options.application_name.c_str(),
                                  options.dsn.reveal().c_str(),
                                  nullptr};
    connection_.reset(PQconnectdbParams(names, values, 1));
    if (!connection_) throw std::bad_alloc();
    if (PQstatus(raw()) != CONNECTION_OK) {
        // libpq gives no SQLSTATE for a failed connect; recognising 28* would need its text. All of
        // them are tried again.
        throw PostgresError({.message = PQerrorMessage(raw()), .connection_lost = true});
    }
    PQsetNoticeReceiver(raw(), quiet, nullptr);
    pid_ = PQbackendPID(raw());
    // dedup/server/server_check.h refuses it, and says why
    if (server_version() < oldest_settings) return;
    const auto milliseconds = [](auto value) { return std::to_string(value.count()) + "ms"; };
    const QueryResult session = query(
        sql::session_settings,
        {milliseconds(options.statement_timeout), milliseconds(options.lock_timeout),
         milliseconds(options.idle_in_transaction_timeout),
         milliseconds(options.client_check_interval), milliseconds(options.tcp_user_timeout)});
    // DANGER: through a pooler the next statement may run in another session, without these limits
    // and under somebody else's prepared statements and locks.
    if (session.integer(0, session.columns() - 1) != pid_) {
        throw ServerRefused(
            "a pooler is between this process and the server; connect to the server itself");
    }
}

QueryResult Connection::take(pg_result* answer, bool committing, Where where) {
    QueryResult result(answer);
    const ExecStatusType status = PQresultStatus(answer);
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_COPY_IN) {
        return result;
    }
    throw failure(raw(), answer, committing, where);
}

QueryResult Connection::execute(std::string_view sql, Where where) {
    const std::string text = expand(sql, {});
    return take(PQexec(raw(), text.c_str()), false, where);
}

QueryResult Connection::commit(const std::function<void()>& meanwhile, Where where) {
    if (PQsendQuery(raw(), commit_statement) != 1) throw failure(raw(), nullptr, true, where);
    const Meanwhile work(meanwhile);
    PQsetNoticeReceiver(raw(), commit_notice, nullptr);
    PGresult* answer = nullptr;
    // The last result counts: libpq reports the lost session after the server's own last message.
    while (PGresult* next = PQgetResult(raw())) {
        PQclear(std::exchange(answer, next));
        if (PQstatus(raw()) != CONNECTION_OK) break;
    }
    PQsetNoticeReceiver(raw(), quiet, nullptr);
    QueryResult result = take(answer, true, where);
    work.rethrow();
    return result;
}

void Connection::rollback() {
    // A broken COPY or a lost session cannot be rolled back by a statement; the server does it when
    // the session ends.
    if (PQtransactionStatus(raw()) == PQTRANS_ACTIVE) PQputCopyEnd(raw(), "rolled back");
    while (PGresult* rest = PQgetResult(raw())) {
        PQclear(rest);
        if (PQstatus(raw()) != CONNECTION_OK) break;
    }
    take(PQexec(raw(), "ROLLBACK"), false, Where::current());
}

QueryResult Connection::query(std::string_view sql, const Parameters& parameters,
                              const Names& names, Where where) {
    const std::string text = expand(sql, names);
    const Parameters::View view = parameters.view();
    return take(PQexecParams(raw(), text.c_str(), parameters.size(), view.types.data(),
                             view.values.data(), view.lengths.data(), view.formats.data(), 0),
                false, where);
}

// The statement's name in this session.
const std::string& Connection::prepare(std::string_view sql, const Parameters& parameters,
                                       const Names& names, Where where) {
    const std::string text = expand(sql, names);
    auto found = prepared_.find(text);
    if (found == prepared_.end()) {
        const std::string name = "onceward_" + std::to_string(++prepared_count_);
        take(PQprepare(raw(), name.c_str(), text.c_str(), parameters.size(),
                       parameters.view().types.data()),
             false, where);
        found = prepared_.emplace(text, name).first;
    }
    return found->second;
}

QueryResult Connection::prepared(std::string_view sql, const Parameters& parameters,
                                 const Names& names, bool binary, Where where) {
    const std::string& name = prepare(sql, parameters, names, where);
    const Parameters::View view = parameters.view();
    return take(PQexecPrepared(raw(), name.c_str(), parameters.size(), view.values.data(),
                               view.lengths.data(), view.formats.data(), binary ? 1 : 0),
                false, where);
}

std::vector<QueryResult> Connection::pipelined(const std::vector<Statement>& statements,
                                               const std::function<void()>& meanwhile,
                                               Where where) {
    return one_group(statements, meanwhile, where, false);
}

// DANGER: the outcome is in doubt from the first byte on: the server runs each statement when it
// arrives, COMMIT too, even if the session is lost meanwhile.
std::vector<QueryResult> Connection::pipelined_commit(const std::vector<Statement>& statements,
                                                      const std::function<void()>& meanwhile,
                                                      Where where) {
    return one_group(statements, meanwhile, where, true);
}

std::vector<QueryResult> Connection::one_group(const std::vector<Statement>& statements,
                                               const std::function<void()>& meanwhile, Where where,
                                               bool committing) {
    std::optional<Meanwhile> work;
    Answers answers = std::move(
        grouped({&statements, 1}, [&] { work.emplace(meanwhile); }, where, committing).front());
    if (answers.error) throw PostgresError(*answers.error);
    work->rethrow();
    return std::move(answers.results);
}

std::vector<Connection::Answers> Connection::grouped(std::span<const std::vector<Statement>> groups,
                                                     const std::function<void()>& meanwhile,
                                                     Where where, bool committing) {
    // A lost session passes this check. Its statements fail, and say why.
    expects(PQtransactionStatus(raw()) != PQTRANS_IDLE ||
                (!groups.empty() && !groups.front().empty() &&
                 groups.front().front().sql == sql::begin),
            "statements in one round trip are in a transaction", where);
    // All of them before the first is sent: in a failed transaction none can be prepared.
    std::vector<const std::string*> names;
    for (const auto& group : groups) {
        for (const Statement& one : group) {
            names.push_back(&prepare(one.sql, one.parameters, one.names, where));
        }
    }
    if (PQenterPipelineMode(raw()) != 1) throw failure(raw(), nullptr, false, where);
    auto name = names.begin();
    for (const auto& group : groups) {
        for (const Statement& one : group) {
            const Parameters::View view = one.parameters.view();
            if (PQsendQueryPrepared(raw(), (*name++)->c_str(), one.parameters.size(),
                                    view.values.data(), view.lengths.data(), view.formats.data(),
                                    1) != 1) {
                throw failure(raw(), nullptr, committing, where);
            }
        }
        // COMMIT is sent as text, so that a proxy on the way can recognise it.
        if (committing && &group == &groups.back() &&
            PQsendQueryParams(raw(), commit_statement, 0, nullptr, nullptr, nullptr, nullptr, 1) !=
                1) {
            throw failure(raw(), nullptr, committing, where);
        }
        if (PQpipelineSync(raw()) != 1) throw failure(raw(), nullptr, committing, where);
    }
    if (meanwhile) meanwhile();
    std::vector<Answers> answers;
    for (const auto& group : groups) {
        const bool commits = committing && &group == &groups.back();
        answers.push_back(take_group(group.size() + (commits ? 1 : 0), where, commits));
    }
    PQexitPipelineMode(raw());
    return answers;
}

Connection::Answers Connection::take_group(std::size_t statements, Where where, bool committing) {
    Answers answers;
    for (std::size_t i = 0; i < statements; ++i) {
        // Only now: a notice of an earlier statement says nothing about COMMIT.
        if (committing && i + 1 == statements) {
            PQsetNoticeReceiver(raw(), commit_notice, nullptr);
        }
        PGresult* answer = PQgetResult(raw());
        while (PGresult* rest = PQgetResult(raw())) {
            PQclear(rest);
            if (PQstatus(raw()) != CONNECTION_OK) break;
        }
        answers.results.emplace_back(answer);
        const ExecStatusType status = PQresultStatus(answer);
        if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || answers.error) continue;
        answers.error = failure(raw(), answer, committing, where, static_cast<int>(i));
    }
    if (committing) PQsetNoticeReceiver(raw(), quiet, nullptr);
    PQclear(PQgetResult(raw()));  // of the end of the group
    return answers;
}

void Connection::forget_prepared(Where where) {
    execute("DEALLOCATE ALL", where);
    prepared_.clear();
}

void Connection::limit_prepared(Where where) {
    constexpr std::size_t most = 200;
    if (prepared_.size() > most) forget_prepared(where);
}

void Connection::copy_begin(std::string_view sql, const Names& names, Where where) {
    const std::string text = expand(sql, names);
    take(PQexec(raw(), text.c_str()), false, where);
}

void Connection::copy_send(std::string_view bytes, Where where) {
    if (PQputCopyData(raw(), bytes.data(), static_cast<int>(bytes.size())) != 1) {
        throw failure(raw(), nullptr, false, where);
    }
}

std::int64_t Connection::copy_end(Where where) {
    if (PQputCopyEnd(raw(), nullptr) != 1) throw failure(raw(), nullptr, false, where);
    PGresult* first = PQgetResult(raw());
    while (PGresult* rest = PQgetResult(raw())) PQclear(rest);
    return take(first, false, where).affected();
}

int Connection::server_version() const { return PQserverVersion(connection_.get()); }

std::string Connection::database_name() const {
    const auto text = [](const char* said) { return std::string(said == nullptr ? "" : said); };
    return text(PQdb(connection_.get())) + " on " + text(PQhost(connection_.get())) + ':' +
           text(PQport(connection_.get()));
}

bool Connection::in_transaction() const {
    const PGTransactionStatusType status = PQtransactionStatus(connection_.get());
    return status == PQTRANS_INTRANS || status == PQTRANS_INERROR || status == PQTRANS_ACTIVE;
}

bool Connection::in_failed_transaction() const {
    return PQtransactionStatus(connection_.get()) == PQTRANS_INERROR;
}

bool Connection::alive() {
    if (PQstatus(raw()) != CONNECTION_OK) return false;
    pollfd waiting{PQsocket(raw()), POLLIN, 0};
    if (poll(&waiting, 1, 0) <= 0) return true;
    return PQconsumeInput(raw()) == 1 && PQstatus(raw()) == CONNECTION_OK;
}

bool Connection::notified(std::chrono::milliseconds wait, Where where) {
    expects(!in_transaction(), "notifications are waited for outside of a transaction", where);
    bool any = false;
    const auto take_all = [&] {
        while (PGnotify* notification = PQnotifies(raw())) {
            PQfreemem(notification);
            any = true;
        }
    };
    take_all();  // those that came with an answer
    if (any) return true;
    pollfd waiting{PQsocket(raw()), POLLIN, 0};
    if (poll(&waiting, 1, static_cast<int>(wait.count())) <= 0) return false;
    if (PQconsumeInput(raw()) != 1 || PQstatus(raw()) != CONNECTION_OK) {
        throw failure(raw(), nullptr, false, where);
    }
    take_all();
    return any;
}

std::string Connection::quote_identifier(std::string_view name) const {
    char* quoted = PQescapeIdentifier(connection_.get(), name.data(), name.size());
    if (quoted == nullptr) throw failure(connection_.get(), nullptr, false, Where::current());
    std::string text(quoted);
    PQfreemem(quoted);
    return text;
}

std::string Connection::expand(std::string_view sql, const Names& names) const {
    std::string text;
    text.reserve(sql.size() + 64);
    while (!sql.empty()) {
        const std::size_t open = sql.find('{');
        text.append(sql.substr(0, open));
        if (open == std::string_view::npos) break;
        const std::size_t close = sql.find('}', open);
        const std::string_view name = sql.substr(open + 1, close - open - 1);
        const auto known = std::ranges::find(names, name, &Names::value_type::first);
        if (name == "schema") {
            text += options_.schema;
        } else if (known != names.end()) {
            text += known->second;
        } else {
            // A brace that names nothing of ours is the statement's own (a JSON or array literal).
            text.append("{").append(name).append(close == std::string_view::npos ? "" : "}");
        }
        if (close == std::string_view::npos) break;
        sql.remove_prefix(close + 1);
    }
    return text;
}

}  // namespace onceward
