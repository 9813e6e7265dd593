#pragma once
// The idempotency key and the 16 bytes of it that are stored.
// Thread-safe as plain values. digest_of() throws std::runtime_error only if OpenSSL itself fails,
// which is a broken installation.

#include <array>
#include <compare>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "dedup/base/text.h"

namespace onceward {

// First 16 bytes of a SHA-256 (FIPS 180-4). Stored as `uuid`: fixed width, no text to be cut at a
// NUL.
struct Digest {
    std::array<std::uint8_t, 16> bytes{};
    // Not defaulted: GCC compiles an array's own comparison to a call and a loop.
    friend bool operator==(const Digest& left, const Digest& right) {
        return std::memcmp(left.bytes.data(), right.bytes.data(), 16) == 0;
    }
    friend std::strong_ordering operator<=>(const Digest& left, const Digest& right) {
        return std::memcmp(left.bytes.data(), right.bytes.data(), 16) <=> 0;
    }
};

// The digest's bytes, for as long as it lives.
inline std::string_view bytes_of(const Digest& digest) {
    return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}

// A key is never global: `42` of one operation, tenant or source is not `42` of another.
struct IdempotencyKey {
    std::string_view operation;  // which command; defaults to `<group>/<topic>`
    std::string_view tenant;     // whose command; '' only if the config declares no tenant
    std::string_view kind;       // where the text came from (header, record_key, field, ...)
    std::string_view text;       // the key itself, any bytes
};

// SHA-256 over the four parts, each with its length before it, so that `a|b`+`c` and `a`+`b|c`
// differ.
Digest digest_of(const IdempotencyKey& key);

// SHA-256 of raw bytes, cut to 16 (fingerprints, content-hash keys).
Digest digest_of_bytes(std::string_view bytes);

// In lower-case hex, as in most signatures.
std::string hmac_sha256(std::string_view secret, std::string_view text);

// Standard Webhooks (standardwebhooks.com): an HMAC-SHA256 in base64 over `ID.TIME.BODY`. In the
// header `webhook-signature`, `v1,` precedes it.
std::string standard_webhooks_signature(std::string_view key, std::string_view id,
                                        std::string_view time, std::string_view body);
// The bytes of a secret, from the form in which it is handed out: base64 of 24 to 64 bytes, with or
// without `whsec_` before it. nullopt for anything else.
std::optional<std::string> standard_webhooks_key(std::string_view secret);

// 32 hexadecimal digits, the form in logs. uuid_text() is the form that PostgreSQL prints.
inline std::string hex(const Digest& digest) { return hex(bytes_of(digest)); }
std::string uuid_text(const Digest& digest);
// Reads either form; returns nullopt for anything else.
std::optional<Digest> parse_uuid(std::string_view text);

// The key for another system, made from ours. It is the same on each try, and does not reveal the
// digest. A UUID in the form of version 5 (RFC 9562). The inbox makes the same in SQL.
std::string downstream_key(const Digest& digest);

// Random bytes, unique to the caller. Throws std::runtime_error if OpenSSL has none.
Digest random_digest();
// A fresh random id (UUID v4, RFC 9562), as text.
std::string new_uuid();

// If a fingerprint has a fixed place next to its digest (a log's batches, its segments, the memory
// of a process), zeros mean that there is none.
inline Digest packed_fingerprint(const std::optional<Digest>& fingerprint) {
    return fingerprint.value_or(Digest{});
}
inline std::optional<Digest> unpacked_fingerprint(const Digest& packed) {
    return packed == Digest{} ? std::nullopt : std::optional(packed);
}

}  // namespace onceward

template <>
struct std::hash<onceward::Digest> {
    std::size_t operator()(const onceward::Digest& digest) const noexcept {
        std::size_t value;
        std::memcpy(&value, digest.bytes.data(), sizeof value);
        return value;
    }
};
