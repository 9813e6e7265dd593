#pragma once
// A plain session with PostgreSQL for tests: the checkers share no code with the product, so it
// does not use dedup/postgres/. Used by one thread; every failure is a DatabaseError with the
// SQLSTATE.

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

struct pg_conn;

namespace onceward::support {

class DatabaseError : public std::runtime_error {
  public:
    DatabaseError(std::string sqlstate, const std::string& message)
        : std::runtime_error(sqlstate + " " + message), sqlstate_(std::move(sqlstate)) {}
    const std::string& sqlstate() const { return sqlstate_; }

  private:
    std::string sqlstate_;
};

using Row = std::vector<std::optional<std::string>>;
using Rows = std::vector<Row>;

class Database {
  public:
    explicit Database(const std::string& dsn);
    // One or more statements; the rows of the last one, as text.
    Rows execute(const std::string& sql);
    // One statement with $1, $2, ... as text.
    Rows execute(const std::string& sql, const std::vector<std::optional<std::string>>& values);
    // The only value of a statement that gives one row and one column.
    std::string value(const std::string& sql);
    std::int64_t number(const std::string& sql) { return std::stoll(value(sql)); }
    int pid() const;

  private:
    struct Finish {
        void operator()(pg_conn* connection) const;
    };
    std::unique_ptr<pg_conn, Finish> connection_;
};

}  // namespace onceward::support
