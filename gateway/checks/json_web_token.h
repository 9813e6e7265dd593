#pragma once
// Bearer tokens: JSON Web Tokens (RFC 7519) whose signature is verified against a JSON Web Key Set
// (RFC 7517). Only RS256 and ES256 are accepted: `none` and the symmetric algorithms are refused
// even if the key set has such keys. The cryptography is cjose's. Immutable values, thread-safe;
// nothing throws but std::bad_alloc.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct _cjose_jwk_int;

namespace onceward {

struct TokenOptions {
    // The `iss` that a token must have; '' accepts any, and `check` warns of that.
    std::string issuer;
    // The token's `aud` must have one of them; an empty list accepts any.
    std::vector<std::string> audiences;
    // How far the clocks of issuer and this machine may differ.
    std::chrono::seconds leeway{60};
};

enum class TokenFault : std::uint8_t {
    malformed,
    algorithm,    // none, a symmetric one, or one that is not known here
    unknown_key,  // no key of the set fits; a newer set may have it
    signature,
    expired,
    not_yet,
    issuer,
    audience,
};
std::string_view to_text(TokenFault fault);

struct KeySet {
    struct Key {
        std::string id;
        std::string algorithm;  // RS256 or ES256
        std::shared_ptr<_cjose_jwk_int> key;
    };
    // Keys that are not for RS256 or ES256 signatures, or too weak (RSA below 2048 bits), are left
    // out. Returns nullopt if the text is not a key set.
    static std::optional<KeySet> parse(std::string_view json);

    std::vector<Key> keys;
};

struct TokenReading {
    std::optional<TokenFault> fault{};
    // The claims of a good token that are strings or whole numbers.
    std::map<std::string, std::string> claims{};
};

// `now`: since 1970 UTC.
TokenReading read_token(std::string_view token, const KeySet& keys, const TokenOptions& options,
                        std::chrono::seconds now);

// What follows `Bearer ` in an Authorization header; nullopt for another scheme.
std::optional<std::string_view> bearer_token(std::string_view authorization);

}  // namespace onceward
