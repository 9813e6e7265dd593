#include "tests/support/database.h"

#include <libpq-fe.h>

namespace onceward::support {
namespace {

struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
};

Rows take(PGconn* connection, PGresult* raw) {
    const std::unique_ptr<PGresult, Clear> result(raw);
    const ExecStatusType status = PQresultStatus(raw);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && status != PGRES_EMPTY_QUERY) {
        const char* state = PQresultErrorField(raw, PG_DIAG_SQLSTATE);
        throw DatabaseError(state == nullptr ? "" : state, PQerrorMessage(connection));
    }
    Rows rows;
    for (int row = 0; row < PQntuples(raw); ++row) {
        Row& values = rows.emplace_back();
        for (int column = 0; column < PQnfields(raw); ++column) {
            if (PQgetisnull(raw, row, column)) {
                values.emplace_back();
            } else {
                const auto size = static_cast<std::size_t>(PQgetlength(raw, row, column));
                values.emplace_back(std::string(PQgetvalue(raw, row, column), size));
            }
        }
    }
    return rows;
}

}  // namespace

void Database::Finish::operator()(pg_conn* connection) const { PQfinish(connection); }

Database::Database(const std::string& dsn) : connection_(PQconnectdb(dsn.c_str())) {
    if (PQstatus(connection_.get()) != CONNECTION_OK)
        throw DatabaseError("", PQerrorMessage(connection_.get()));
    PQsetNoticeProcessor(
        connection_.get(), [](void*, const char*) {}, nullptr);
}

Rows Database::execute(const std::string& sql) {
    return take(connection_.get(), PQexec(connection_.get(), sql.c_str()));
}

Rows Database::execute(const std::string& sql,
                       const std::vector<std::optional<std::string>>& values) {
    std::vector<const char*> pointers;
    for (const auto& value : values) pointers.push_back(value ? value->c_str() : nullptr);
    return take(connection_.get(),
                PQexecParams(connection_.get(), sql.c_str(), static_cast<int>(pointers.size()),
                             nullptr, pointers.data(), nullptr, nullptr, 0));
}

std::string Database::value(const std::string& sql) {
    const Rows rows = execute(sql);
    if (rows.size() != 1 || rows[0].size() != 1 || !rows[0][0])
        throw std::runtime_error("not one value: " + sql);
    return *rows[0][0];
}

int Database::pid() const { return PQbackendPID(connection_.get()); }

}  // namespace onceward::support
