#pragma once
// The error of PostgreSQL, or of the way to it, instead of a result. Thread-safe as values. The
// SQLSTATE decides what happens next (dedup/policy/failure.h); the text is for people only.

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace onceward {

// The codes that more than one place compares with, under PostgreSQL's own names.
namespace sqlstate {
// statement_timeout, or a cancelled statement
inline constexpr std::string_view query_canceled = "57014";
// lock_timeout, or NOWAIT
inline constexpr std::string_view lock_not_available = "55P03";
inline constexpr std::string_view deadlock_detected = "40P01";
inline constexpr std::string_view undefined_table = "42P01";
}  // namespace sqlstate

class PostgresError : public std::runtime_error {
  public:
    struct Diagnosis {
        std::string sqlstate{};  // five characters; empty if the connection broke without one
        // the primary message; may quote values of a row, so it is never logged
        std::string message{};
        std::string constraint{};  // the constraint's name, if the error has one
        std::string column{};
        // the server's own function that raised the error; distinguishes row level security from a
        // missing GRANT
        std::string routine{};
        int statement = 0;             // which of the statements that were sent together, from 0
        bool connection_lost = false;  // the session is gone; what was learnt through it is void
        bool in_doubt = false;         // a COMMIT was sent and its answer never came
    };
    // `where`: the statement's caller.
    explicit PostgresError(Diagnosis diagnosis,
                           const std::source_location& where = std::source_location::current());
    const Diagnosis& diagnosis() const { return diagnosis_; }
    const std::string& sqlstate() const { return diagnosis_.sqlstate; }
    const std::source_location& where() const { return where_; }
    // Safe for logs, since it quotes no value: SQLSTATE, constraint and column, and PostgreSQL's
    // own message if that names no value of a row (a server that is away, a missing role, table or
    // privilege); and the statement's caller, as place_of() writes it.
    std::string summary() const;

  private:
    Diagnosis diagnosis_;
    std::source_location where_;
};

// Whether the error says that a table does not exist: retention dropped it, in most cases.
inline bool table_is_gone(const PostgresError& error) {
    return error.sqlstate() == sqlstate::undefined_table;
}

// Throws the error by which PostgreSQL asks to run a transaction once more (40001).
[[noreturn]] void try_again(const char* why,
                            const std::source_location& where = std::source_location::current());

// The server is up and would break the guarantee. The text says what to change; another try does
// not help by itself.
class ServerRefused : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

}  // namespace onceward
