#pragma once
// What PostgreSQL stores for a role's password (RFC 5802 and 7677), with one round instead of
// 4,096. A client computes these rounds for each connection, which takes 7 ms of processor time,
// and the tests open thousands. They protect a weak password from guessing: for tests only. A
// client that follows the RFC to the letter, such as PostgreSQL's JDBC driver, refuses fewer than
// 4,096.

#include <string>

namespace onceward::support {

// Throws std::runtime_error if OpenSSL fails.
std::string scram_verifier(const std::string& password);

}  // namespace onceward::support
