#include "tests/faults/checker/pg_session.h"

#include <array>

namespace onceward::checker {
namespace {

constexpr Oid bytea_type = 17;

struct FreeMemory {
    void operator()(void* memory) const { PQfreemem(memory); }
};

[[noreturn]] void fail(PGconn* connection, const PGresult* result) {
    const char* sqlstate =
        result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_SQLSTATE);
    throw DatabaseFailure(sqlstate == nullptr ? "" : sqlstate, PQerrorMessage(connection));
}

}  // namespace

std::string Rows::text(int row, int column) const {
    return {PQgetvalue(result_.get(), row, column),
            static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t Rows::number(int row, int column) const {
    return is_null(row, column) ? 0 : std::stoll(PQgetvalue(result_.get(), row, column));
}

std::optional<std::string> Rows::bytes(int row, int column) const {
    if (is_null(row, column)) return std::nullopt;
    if (PQftype(result_.get(), column) != bytea_type) return text(row, column);
    std::size_t length = 0;
    const std::unique_ptr<unsigned char, FreeMemory> memory(PQunescapeBytea(
        reinterpret_cast<const unsigned char*>(PQgetvalue(result_.get(), row, column)), &length));
    if (!memory) throw std::bad_alloc();
    return std::string(reinterpret_cast<const char*>(memory.get()), length);
}

PgSession::PgSession(const std::string& dsn, int connect_seconds) {
    const std::string seconds = std::to_string(connect_seconds);
    // The later ones go before what the connection string says.
    const std::array<const char*, 7> names{"dbname",
                                           "connect_timeout",
                                           "application_name",
                                           "client_encoding",
                                           "keepalives_idle",
                                           "tcp_user_timeout",
                                           nullptr};
    const std::array<const char*, 7> values{
        dsn.c_str(), seconds.c_str(), "onceward-checker", "UTF8", "5", "10000", nullptr};
    connection_.reset(PQconnectdbParams(names.data(), values.data(), 1));
    if (PQstatus(connection_.get()) != CONNECTION_OK) fail(connection_.get(), nullptr);
}

Rows PgSession::query(const std::string& sql, const std::vector<std::string>& values) {
    std::vector<const char*> texts;
    texts.reserve(values.size());
    for (const std::string& value : values) texts.push_back(value.c_str());
    PGresult* result = PQexecParams(connection_.get(), sql.c_str(), static_cast<int>(texts.size()),
                                    nullptr, texts.data(), nullptr, nullptr, 0);
    Rows rows(result);
    const ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) fail(connection_.get(), result);
    return rows;
}

void PgSession::run(const std::string& sql) {
    PGresult* result = PQexec(connection_.get(), sql.c_str());
    const Rows rows(result);
    const ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) fail(connection_.get(), result);
}

std::string PgSession::identifier(const std::string& name) {
    const std::unique_ptr<char, FreeMemory> quoted(
        PQescapeIdentifier(connection_.get(), name.c_str(), name.size()));
    if (!quoted) fail(connection_.get(), nullptr);
    return quoted.get();
}

}  // namespace onceward::checker
