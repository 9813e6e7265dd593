#pragma once
// The idempotency key of a request, by draft-ietf-httpapi-idempotency-key-header. Pure;
// thread-safe.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/http/http.h"

namespace onceward {

// How the header's value is written. structured: an RFC 8941 string, in quotes, as the draft has
// it. plain: the text itself, as most clients send it. either: what begins with a quote is
// structured. `"a"` and `a` are the same key.
enum class KeyFormat : std::uint8_t { either, structured, plain };

// forbidden: the route takes no key, and a request that has one is a mistake of the client.
enum class KeyUse : std::uint8_t { required, optional, forbidden };

struct KeyHeaderOptions {
    std::string header = "Idempotency-Key";
    KeyFormat format = KeyFormat::either;
    KeyUse use = KeyUse::required;
    // Bytes of the key itself, without quotes.
    std::size_t length_min = 1;
    std::size_t length_max = 255;
    // Only a UUID in its canonical form is a key.
    bool uuid = false;
};

enum class KeyFault : std::uint8_t {
    missing,       // required, but absent
    not_expected,  // present, but forbidden
    repeated,      // more than one line
    malformed,     // not of the format
    too_short,
    too_long,
    no_uuid,
};

struct RequestKey {
    std::string text;     // what the key is a digest of
    std::string written;  // as it came; the answer echoes it
};

struct KeyReading {
    // Nullopt together with a fault, and if the key is optional and absent.
    std::optional<RequestKey> key{};
    std::optional<KeyFault> fault{};
};

KeyReading read_key(const HttpHeaders& headers, const KeyHeaderOptions& options);

// The text that the key is a digest of: a UUID in lower case, as RFC 9562 compares it without case.
std::string canonical_key(std::string text, const KeyHeaderOptions& options);

// The rules for the key's text alone, for keys from elsewhere (a field of the body).
std::optional<KeyFault> check_key_text(std::string_view text, const KeyHeaderOptions& options);

// The same rules, and the header must be able to carry the text.
std::optional<KeyFault> check_key_for_header(std::string_view text,
                                             const KeyHeaderOptions& options);

// Where a request has its key: in the header, at a pointer of its body, or in each of its items.
struct KeyPlace {
    enum class Kind : std::uint8_t { header, field, item };
    Kind kind = Kind::header;
    std::string field{};  // the pointer
};

// What is wrong, for the client.
std::string describe(KeyFault fault, const KeyHeaderOptions& options, const KeyPlace& place = {});

}  // namespace onceward
