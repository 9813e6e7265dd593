#pragma once
// When an idempotency key was minted. A ledger forgets keys after its retention; with this time it
// refuses a key that is older than what it remembers, instead of taking it for a new one.
// Plain values and pure functions; thread-safe. A time that cannot be read is nullopt.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dedup/message/digest.h"
#include "dedup/message/value.h"

namespace onceward {

using MintedAt = std::chrono::sys_time<std::chrono::microseconds>;

// Where the time of a key is found.
struct MintedSource {
    enum class Kind : std::uint8_t {
        none,     // keys have no time, and a ledger that forgot one takes it for new
        uuid7,    // in the key, a UUID of version 7 (RFC 9562): it cannot be changed afterwards
        header,   // `name`
        field,    // `name`: a JSON pointer or a Protobuf path
        ce_time,  // a CloudEvent's `time`
    };
    Kind kind = Kind::none;
    std::string name{};
};
// `the key, as a UUID of version 7`: for messages to people.
std::string describe(const MintedSource& source);

// A new UUID of version 7: the milliseconds of now, and 74 random bits.
std::string new_uuid7();
// A UUID of version 7 has only milliseconds.
std::optional<MintedAt> minted_from_uuid7(std::string_view key);
// RFC 3339 with its zone, or a whole number of milliseconds since 1970-01-01 UTC.
std::optional<MintedAt> minted_from_text(std::string_view text);
// The same for a field's value, which may also be a Protobuf timestamp.
std::optional<MintedAt> minted_from(const Value& value);

// The time joins the fingerprint, so that the same key with another time is a conflict. The inbox
// computes the same with its SQL function stamped().
Digest stamped(const std::optional<Digest>& fingerprint, MintedAt minted_at);
// Without a time it returns the fingerprint as it is.
inline std::optional<Digest> stamped(const std::optional<Digest>& fingerprint,
                                     const std::optional<MintedAt>& minted_at) {
    return minted_at ? stamped(fingerprint, *minted_at) : fingerprint;
}

}  // namespace onceward
