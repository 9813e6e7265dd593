#pragma once
// Describes keys for the claims and leases of a program that uses libpqxx. The calls are the SQL
// functions of Onceward's schema (docs/inbox.md). They run in the caller's transaction and never
// end it. It is of any type of libpqxx, but claims are refused in a nontransaction. An Inbox is
// immutable and holds no connection: any number of threads may use one. The first call of each
// Inbox checks the version of the functions.

#include <pqxx/transaction_base>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inbox/cpp/errors.h"
#include "inbox/cpp/uuid.h"

namespace onceward::pqxx {

// The version of the SQL functions that this library was written for.
inline constexpr int inbox_version = 1;

struct Inbox {
    std::string operation;            // what is done with a key; keys of two operations never meet
    std::string kind = "id";          // where keys come from
    std::string tenant{};             // whose keys they are; empty if keys have no tenant
    std::string ledger{};             // what remembers them; empty: inbox, or inbox_leases
    std::string schema = "onceward";  // Onceward's own
    // Whether the version was checked. Copies share it.
    std::shared_ptr<std::atomic<bool>> checked = std::make_shared<std::atomic<bool>>(false);
};

enum class Outcome : std::uint8_t {
    fresh,      // the key is the caller's: make its effect, then store its result
    duplicate,  // it took effect before
    failed,     // it failed for good before
    conflict,   // it was used before with another fingerprint
    unknown,    // it may have taken effect, and no result of it is kept
    expired,    // it was minted before the ledger's memory begins
    in_flight,  // another caller holds the lease; never answered by claim()
};
// As SQL has it.
std::string_view name_of(Outcome outcome);

struct Header {
    std::string name;
    std::string value;
    bool operator==(const Header&) const = default;
};

// What a key's first call ended with. Later calls with the key get it again.
struct Result {
    int status = 0;
    std::vector<Header> headers{};
    std::string body{};
    bool failed = false;  // for good
};

struct StoredResult {
    int status = 0;
    std::vector<Header> headers;
    std::optional<std::string> body;  // nullopt: claim_many() left it out
    Time stored_at;
};

}  // namespace onceward::pqxx
