#pragma once
// Idempotency keys: how they are made, written and judged. Thread-safe. mint_key() and
// fingerprint_of() throw std::runtime_error where OpenSSL itself fails.

#include <optional>
#include <string>
#include <string_view>

namespace onceward::client {

// A UUID of version 4: 122 random bits. With `uuid7` one of version 7 (RFC 9562): the milliseconds
// of now, and 74 random bits. A server with `key.minted_at: uuid7` refuses it after it may have
// forgotten it.
std::string mint_key(bool uuid7 = false);

// Throws std::invalid_argument for a key that no front door would take.
void check_key(std::string_view key);

// Why the key might not be the only one of its kind; '' where nothing speaks against it.
// `previous`: the one given before, or ''.
std::string weakness(std::string_view key, std::string_view previous);

// In lower case hex.
std::string sha256(std::string_view text);
std::string random_hex();

// SHA-256 of method, target and body: what a restarted caller has to come with again.
std::string fingerprint_of(std::string_view method, std::string_view target, std::string_view body);

}  // namespace onceward::client
