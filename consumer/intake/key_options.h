#pragma once
// Where a topic's idempotency keys come from, and what is done if there is none. Plain values.

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/base/types.h"
#include "dedup/message/minted.h"
#include "dedup/message/value.h"

namespace onceward {

struct KeySource {
    enum class Kind : std::uint8_t {
        header,  // `name`; the last of repeated ones
        record_key,
        field,   // `name`: JSON pointer or Protobuf path; numbers as they are written
        fields,  // `names`: several of these, composed_key() of them
        // `names` and the record's key: composed_key() of the fields and of the digest of the key.
        // DANGER: one place in the log may have changes of many rows, which only their keys tell
        // apart.
        change,
        cloudevents,     // `ce_source` + `ce_id`, or the structured form's `source` + `id`
        payload_sha256,  // takes two equal orders for one
        // Topic's id (else its name), partition, offset: only finds what Kafka delivers twice.
        coordinates,
    };
    Kind kind = Kind::header;
    std::string name{};
    // RFC 8941 string: the quotes around a header's value are taken off (preset `idempotency-key`).
    bool strip_quotes = false;
    // Names the source inside the digest; '' means its kind and name (kind_of()). Two sources with
    // the same value here share their keys, because the config says so.
    std::string kind_name{};
    // A preset's JSON envelope field: left out if the topic is not JSON.
    bool only_json = false;
    std::vector<std::string> names{};
};

enum class KeyPolicy : std::uint8_t {
    reject,  // to the dead letters
    derive,  // from the message's coordinates: applied, but only Kafka's own redeliveries are found
    skip,    // not applied, counted as skipped
};

// What is stored with a key's claim: the first 16 bytes of a SHA-256. The same key with another
// fingerprint is a conflict if both claims have one.
struct FingerprintOptions {
    enum class Of : std::uint8_t {
        none,     // the same key is always a duplicate
        payload,  // the raw payload
        fields,   // these, in canonical form (RFC 8785); duplicates' payloads are read, too
    };
    Of of = Of::none;
    std::vector<std::string> fields;  // JSON pointers or Protobuf paths
    friend bool operator==(const FingerprintOptions&, const FingerprintOptions&) = default;
};

struct KeyOptions {
    std::vector<KeySource> sources;  // the first one that is present wins
    std::string operation;           // '' means `<group>/<topic>`
    // Where the tenant comes from; if a message lacks it, that counts as a missing key.
    std::optional<FieldSource> tenant;
    std::size_t length_min = 1;    // bytes
    std::size_t length_max = 255;  // bytes
    // `any` still refuses NUL.
    enum class Charset : std::uint8_t { any, ascii_printable, uuid } charset = Charset::any;
    // ECMAScript regular expression that must match the whole key; '' for none. Costs microseconds
    // for each key; keys above 4096 bytes are not matched, and are invalid.
    std::string pattern;
    KeyPolicy on_missing = KeyPolicy::reject;
    KeyPolicy on_invalid = KeyPolicy::reject;
    FingerprintOptions fingerprint;
    MintedSource minted_at;  // of the key; its time joins the fingerprint
};

// The key sources of a named preset (`idempotency-key`, `cloudevents`, `debezium-outbox`,
// `debezium-postgres`, `masstransit`, `nservicebus`, `kafka-coordinates`, `body-sha256`); nullopt
// for an unknown name.
std::optional<std::vector<KeySource>> key_preset(const std::string& name);
std::vector<std::string> key_preset_names();

// The name of the source in the digest: `header:<name>`, `field:<path>`, `fields:<paths>` as
// composed_key() writes them, `change:<paths>` likewise, `record_key`, `cloudevents`,
// `payload_sha256`, `coordinates`, or kind_name. Keys of different kinds are different keys.
std::string kind_of(const KeySource& source);
// The key's text if the source has parts. `log` is the topic's id, else its name.
std::string cloudevents_key(std::string_view source, std::string_view id);
std::string coordinates_key(std::string_view log, Partition partition, Offset offset);
// A JSON array of texts in canonical form (RFC 8785): `["acme","17"]`. Other programs can write the
// same. DANGER: parts that are only joined are not a key: `a-b` with `c` and `a` with `b-c` would
// be one.
std::string composed_key(std::span<const std::string_view> parts);

// The lexical side of keys: from a value to the key's bytes, and what makes them invalid. Pure
// functions; faults are literals that quote nothing of the key.
struct KeyText {
    enum class Status : std::uint8_t { missing, found, invalid };
    Status status = Status::missing;
    std::string_view text{};      // as it was found
    const char* fault = nullptr;  // of an invalid one
};

// Absent and null are missing. A number's key is its text as written; booleans, objects, lists and
// times are no keys. Keys are bytes: no case folding, no Unicode normalisation (NFC and NFD of a
// text are two keys).
KeyText key_text(const Value& value, std::pmr::memory_resource& arena);

// A header that begins with a quote is read as an RFC 8941 string, whose parameters are ignored; a
// value without quotes stays as it is.
KeyText strip_quotes(std::string_view header, std::pmr::memory_resource& arena);

// The text that the key is a digest of: a UUID in lower case, as RFC 9562 compares it without case.
std::string_view canonical_key_text(std::string_view text, const KeyOptions& options,
                                    std::pmr::memory_resource& arena);

// The first rule of length, NUL and charset that the text breaks, or nullptr.
const char* key_fault(std::string_view text, const KeyOptions& options);

}  // namespace onceward
