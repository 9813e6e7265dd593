#pragma once
// What the inbox refuses. Each is a pqxx::sql_error with its SQLSTATE, which is the same in every
// language. Other errors of the database pass as libpqxx throws them.

#include <pqxx/except>

#include <cstdint>
#include <string>

namespace onceward::pqxx {

enum class Refusal : std::uint8_t {
    isolation,         // OW001: the transaction is not READ COMMITTED
    ledger,            // OW002: the ledger has no inbox, or its store is another one
    not_allowed,       // OW003: the role may not use the ledger or the operation
    argument,          // OW004: an argument is missing or not valid
    unfinished,        // OW005: COMMIT of a claim without a result
    not_claimed,       // OW006: this transaction has not claimed the key
    result_too_large,  // OW007
    busy,              // 55P03: another transaction held the key or the ledger for too long
    version,           // the schema's functions are missing or of another version; no SQLSTATE
};

class Refused : public ::pqxx::sql_error {
  public:
    // The second one is for what is refused before anything is sent.
    Refused(Refusal why, const ::pqxx::sql_error& error);
    Refused(Refusal why, const std::string& what);

    Refusal why() const noexcept { return why_; }

  private:
    Refusal why_;
};

// Throws it as a Refused if it is one, else as it is. It is for handlers: an OW005 comes from
// COMMIT, which is the caller's own.
[[noreturn]] void rethrow(const ::pqxx::sql_error& error);

// Whether PostgreSQL asks for another try (40001, 40P01), or the key was held for too long (55P03),
// or the server ended the session.
bool wants_another_try(const ::pqxx::sql_error& error) noexcept;

}  // namespace onceward::pqxx
