#pragma once
// A message on its way from Kafka to the sink, and the chunk that owns it.
// Not thread-safe: a chunk belongs to one thread at a time and is handed from the reader to the
// writer whole. Every view in a Message points into Record::storage or into its chunk's arena.

#include <chrono>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dedup/base/boxed.h"
#include "dedup/base/types.h"
#include "dedup/message/digest.h"
#include "dedup/message/minted.h"
#include "dedup/message/value.h"

namespace onceward {

// The ledger's verdict on a key.
enum class Verdict : std::uint8_t {
    fresh,
    duplicate,
    conflict,  // the key was claimed with another fingerprint
    late,      // minted before the ledger's memory begins, and not known: it may have taken effect
    early,     // minted in the future, by more than clocks may differ
};

struct TraceContext;

// Where a claim came from. A log knows the first and the last offset of a batch in each of its
// partitions; in other stores both are the same.
struct ClaimPlace {
    std::string consumer_group;
    std::string topic;  // both '' if the ledger no longer knows the topic
    Partition partition;
    Offset first;
    Offset last;
    friend bool operator==(const ClaimPlace&, const ClaimPlace&) = default;
};

// The claim that a message in conflict has met.
struct EarlierClaim {
    Digest fingerprint;
    std::vector<ClaimPlace> places;  // the claim is at one of them; empty if the ledger cannot tell
};

// The totals that the fence's row keeps. I16: every message ends in exactly one of these.
struct Totals {
    std::int64_t applied = 0;
    std::int64_t duplicates = 0;
    std::int64_t conflicts = 0;
    std::int64_t dead_lettered = 0;
    std::int64_t skipped = 0;
    std::int64_t passed() const {
        return applied + duplicates + conflicts + dead_lettered + skipped;
    }
    Totals& operator+=(const Totals& other);
    friend bool operator==(const Totals&, const Totals&) = default;
};

struct Header {
    std::string_view name;
    std::optional<std::string_view> value;  // Kafka allows a null header value
};

// Their memory is that of their record's chunk, or their own.
using RecordHeaders = std::pmr::vector<Header>;

// What Kafka's log holds at one offset, unchanged.
struct Record {
    Partition partition;
    Offset offset;
    LeaderEpoch leader_epoch{-1};
    bool log_append_time = false;  // the broker set the timestamp, not the producer
    // since 1970-01-01 UTC; never trusted for retention
    std::optional<std::chrono::milliseconds> timestamp;
    std::optional<std::string_view> key;      // nullopt: a null key
    std::optional<std::string_view> payload;  // nullopt: a tombstone
    RecordHeaders headers;                    // in the record's order; names may repeat
    // Owns the bytes that the views point to (a librdkafka message, or nothing in tests).
    std::unique_ptr<void, void (*)(void*)> storage{nullptr, +[](void*) {}};
};

// Why a message cannot be applied. By the topic's policy, it is written to the dead letters or
// halts the topic.
struct Rejection {
    enum class Kind : std::uint8_t {
        undecodable,  // the payload is not what the topic's format says
        missing_key,  // no source of the key had one
        invalid_key,  // a key was found and failed validation
        tombstone,    // a null payload, and the policy is `reject`
        unmappable,   // a value does not fit its column
        sink,         // PostgreSQL refused the row; `sqlstate` says why
        conflict,     // the key was used before with another fingerprint
        behind,       // follows a dead letter under the same record key (order: by_key)
        hot_key,      // its key came too often within a window
        late_key,     // its key was minted before the ledger's memory begins
        unknown_schema,  // the registry has no schema of the message's id
    };
    Kind kind = Kind::undecodable;
    std::string reason{};    // for people; never parsed; holds no payload
    std::string sqlstate{};  // five characters if PostgreSQL reported it, else empty
    int attempts = 1;
    // Set for a conflict; lives as long as the attempt that found it.
    const EarlierClaim* earlier = nullptr;
};
std::string_view to_text(Rejection::Kind kind);
// The kind of that name; nullopt for any other text.
std::optional<Rejection::Kind> rejection_kind(std::string_view name);
// For a key that its ledger cannot judge. REQUIRES: `verdict` is late or early.
Rejection refusal_of(Verdict verdict);
// For logs: PostgreSQL's message may quote values of the row, so only its SQLSTATE is shown.
std::string describe(const Rejection& rejection);

// what the message asks of its row (a tombstone removes)
enum class Operation : std::uint8_t { upsert, remove };

// The key of a message if it was read elsewhere: the front door reads a request's. Its views live
// as long as the message.
struct MessageKey {
    Digest digest;
    std::optional<Digest> fingerprint = {};
    std::string_view text = {};  // '' if the request came without a key
    std::optional<MintedAt> minted_at = {};
};

struct Message {
    Message() = default;
    explicit Message(Record&& taken) : record(std::move(taken)) {}

    Record record;
    std::string_view key_text;       // the key's text as it was found; in the chunk's arena
    std::string_view tenant{};       // of the key; '' if keys have none
    std::span<const Value> fields;   // in the order in which the topic's sink asked for them
    std::string_view skip_reason{};  // a literal
    // The span of its processing; what the message causes continues it. The writer sets it if the
    // span is recorded, and it lives as long as the batch. Null: what the message causes continues
    // the trace of the record's own headers.
    const TraceContext* trace = nullptr;
    // Set by the decoder, the key's validation or Sink::encode(). Boxed, since few messages have
    // one: thousands wait between reader and writer, and a small one stays in the cache.
    Boxed<Rejection> rejection;
    // The writer reads the members from here on, and whether there is a rejection, for every
    // message: they fit into one or two lines of a processor's cache.
    bool skipped = false;  // by an explicit policy; counted
    // Only the fingerprint of the payload was read so far: a duplicate needs no more.
    bool deferred = false;
    Operation operation = Operation::upsert;
    // of its idempotency key; meaningful unless rejected or skipped
    Digest digest;
    std::string_view encoded;           // what Sink::encode() made of it; in the chunk's arena
    std::optional<Digest> fingerprint;  // of payload or fields, if the topic asks for one
    std::optional<MintedAt> minted_at{};  // of its key, if the topic has such times
};

// The range of a partition that was read: `begin` up to `end`, where the next reading begins. `end`
// may lie beyond the last message (control records, a compacted tail, PARTITION_EOF), `begin ==
// end` says nothing.
struct Span {
    Partition partition;
    Offset begin;
    Offset end;
    LeaderEpoch leader_epoch{-1};  // of the record before `end`; -1: not known
    friend bool operator==(const Span&, const Span&) = default;
};

// Messages of one topic as the reader got them, with one span for each partition among them.
// Invariant: the offsets of a partition grow; all of them lie inside its span.
struct Chunk {
    // The arena holds unescaped strings, field arrays and encoded rows; freed as a whole.
    std::unique_ptr<std::pmr::monotonic_buffer_resource> arena =
        std::make_unique<std::pmr::monotonic_buffer_resource>();
    std::vector<Message> messages;
    std::vector<Span> spans;
    std::size_t bytes = 0;  // keys + payloads + headers, for the batch's limit
};

// Copies `bytes` into the arena and returns the view of the copy.
std::string_view keep(std::pmr::memory_resource& arena, std::string_view bytes);

// The header that counts how often a dead letter was sent again.
inline constexpr const char* redriven_header = "onceward-redriven";
// The header with which the outbox's relay ends a record: its id.
inline constexpr const char* outbox_id_header = "onceward-id";

// The time by which the ledger judges the message's key. A redrive counts as minting it again: an
// operator has decided that the message may take effect, and the copy's own time in the log says
// when.
std::optional<MintedAt> judged_at(const Message& message);

// The value of the last header of that name, as Kafka's own consumers read repeated headers.
// nullopt if there is no such header, or if the last one is null.
std::optional<std::string_view> last_header(const Record& record, std::string_view name);

// The trace that a record or a call continues if the message causes it. `parent` is the context of
// the message's own span, or the one that its record came with; '' if there is none. `state` is a
// view of the record.
struct RecordTrace {
    std::string parent;
    std::string_view state;
};
RecordTrace trace_to_continue(const Message& message);

}  // namespace onceward
