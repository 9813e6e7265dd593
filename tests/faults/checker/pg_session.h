#pragma once
// A session with PostgreSQL for the checker: libpq with handles that free themselves. Used by one
// thread. Every failure is a DatabaseFailure with the SQLSTATE (empty where there was no answer).

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace onceward::checker {

class DatabaseFailure : public std::runtime_error {
  public:
    DatabaseFailure(std::string sqlstate, const std::string& message)
        : std::runtime_error("PostgreSQL: " + message), sqlstate_(std::move(sqlstate)) {}
    const std::string& sqlstate() const { return sqlstate_; }

  private:
    std::string sqlstate_;
};

// Rows of one answer.
class Rows {
  public:
    explicit Rows(PGresult* result) : result_(result) {}
    int size() const { return PQntuples(result_.get()); }
    bool is_null(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }
    std::string text(int row, int column) const;
    std::int64_t number(int row, int column) const;
    // The bytes of a bytea; any other type's text.
    std::optional<std::string> bytes(int row, int column) const;

  private:
    struct Clear {
        void operator()(PGresult* result) const { PQclear(result); }
    };
    std::unique_ptr<PGresult, Clear> result_;
};

class PgSession {
  public:
    // Waits at most that long for the server.
    PgSession(const std::string& dsn, int connect_seconds);
    // One statement with $1, $2, ... as text.
    Rows query(const std::string& sql, const std::vector<std::string>& values = {});
    // Several statements without values.
    void run(const std::string& sql);
    std::string identifier(const std::string& name);

  private:
    struct Finish {
        void operator()(PGconn* connection) const { PQfinish(connection); }
    };
    std::unique_ptr<PGconn, Finish> connection_;
};

}  // namespace onceward::checker
