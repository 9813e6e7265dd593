#pragma once
// What a run with faults has left: what was produced, what Kafka's log holds, what
// PostgreSQL holds, what was seen while it ran. Plain values; their owner fills them in (the
// loaders of this folder, or a test from memory; every member has an initializer, so that
// designated ones may leave some out). Topics are numbers: places in Evidence::topics.
// DANGER: nothing in this folder shares code with the product, nor with what links it: a mistake
// in common would hide itself. tests/tidy/ enforces it.

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace onceward::checker {

// A partition of a topic, and a message's place in it. An offset of -1: not known.
struct PartitionName {
    int topic = 0;
    int partition = 0;
    auto operator<=>(const PartitionName&) const = default;
};
struct Place {
    int topic = 0;
    int partition = 0;
    std::int64_t offset = -1;
    auto operator<=>(const Place&) const = default;
    PartitionName in() const { return {topic, partition}; }
};

// What must become of a message, known by its producer.
enum class Nature : std::uint8_t {
    good,         // can be applied
    undecodable,  // never: a dead letter, also where its key was applied before
    refused,      // PostgreSQL refuses its row: a dead letter, or a duplicate of an applied one
    uncertain,    // may be applied or may be a dead letter (a trigger that fails at times)
    tombstone,    // null payload: TopicSettings::tombstones says what becomes of it
    without_key,  // no key, or an invalid one: TopicSettings::without_key says
};

struct ProducedMessage {
    std::uint64_t id = 0;  // unique in the run; a header of the message and a column of its row
    Place place{};         // the topic always; the offset where the broker acknowledged it
    Nature nature = Nature::good;
    bool aborted = false;    // its transaction was aborted: no reader of committed messages sees it
    std::string key_kind{};  // "header:Idempotency-Key", "record_key", ...
    std::string key{};       // the bytes of the key; tenants are part of it
    // Where the topic has fingerprints: the same key with another one is a conflict.
    std::string fingerprint{};
    std::string target{};  // upsert sinks: the row that it writes
    // When the broker's answer was here, in microseconds since 1970; 0: not known. Retention alone
    // is judged by it.
    std::int64_t acknowledged_us = 0;
    std::string sqlstate{};  // what the table refuses its row with; empty: any
};

// One message that a reader of committed messages finds. Control records and aborted messages are
// gaps.
struct LogRecord {
    std::int64_t offset = -1;
    std::uint64_t id = 0;
};
struct PartitionLog {
    PartitionName name{};
    std::int64_t begin = 0;  // below it the broker has deleted
    std::int64_t end = 0;    // high watermark: the offset that the next message will get
    std::vector<LogRecord> records{};
};

using Header = std::pair<std::string, std::optional<std::string>>;
struct Content {
    std::optional<std::string> key{};
    std::optional<std::string> payload{};
    std::vector<Header> headers{};
    bool operator==(const Content&) const = default;
};

// xmin of a row, where rows are only inserted: the transaction that wrote it.
using Transaction = std::uint64_t;

// A row of the user's table. `landed` grows with every insert; 0: not known.
struct Effect {
    std::uint64_t id = 0;
    Place place{};
    Transaction transaction = 0;
    std::int64_t landed = 0;
    std::optional<std::string> key{};     // as it stands in the row, where it does
    std::optional<std::string> target{};  // upsert sinks
};

struct Claim {
    Place place{};
    Transaction transaction = 0;
    int ledger = 0;
    std::int64_t generation = 0;
    std::string digest{};
};

struct Generation {
    int ledger = 0;
    std::int64_t generation = 0;
    bool listed = true;
    std::int64_t last = 0;  // of those that were merged into it; 0: itself alone
};

struct DeadLetter {
    Place place{};
    Transaction transaction = 0;
    std::string identity{};
    Content content{};
    bool has_timestamp = false;
    std::string error_class{};
    std::string sqlstate{};
    std::string reason{};
    int attempts = 0;
};

struct SkippedRange {
    PartitionName name{};
    std::int64_t begin = 0;
    std::int64_t end = 0;
    Transaction transaction = 0;
    std::string reason{};
};

struct Totals {
    std::int64_t applied = 0;
    std::int64_t duplicates = 0;
    std::int64_t conflicts = 0;
    std::int64_t dead_lettered = 0;
    std::int64_t skipped = 0;
    bool operator==(const Totals&) const = default;
    std::int64_t sum() const { return applied + duplicates + conflicts + dead_lettered + skipped; }
};

struct Fence {
    PartitionName name{};
    std::int64_t first_offset = 0;
    std::int64_t next_offset = 0;
    Totals totals{};
    std::int64_t epoch = 0;
    std::string owner{};
    int ledger = 0;  // 0: not known
};

// One change of a fence's row, written by the trigger of audit.sql in the same transaction. In the
// order of `sequence`, which is the order of commits for one partition.
struct FenceMove {
    std::int64_t sequence = 0;
    PartitionName name{};
    Transaction transaction = 0;
    int session = 0;          // process id of the server's backend
    std::string old_owner{};  // empty: the row was made
    std::string new_owner{};
    std::int64_t old_epoch = 0;
    std::int64_t new_epoch = 0;
    std::int64_t old_next = 0;
    std::int64_t new_next = 0;
    Totals counted{};          // by how much the totals grew
    std::int64_t at_us = 0;    // the server's clock, microseconds since 1970
    bool by_operator = false;  // `onceward offsets` and its like
};

// A generation of claims that was unlisted, and where every fence stood then (audit.sql).
struct GenerationDrop {
    int ledger = 0;
    std::int64_t generation = 0;
    std::int64_t sealed_us = 0;
    std::int64_t dropped_us = 0;
    std::map<PartitionName, std::int64_t> fences{};
};

// A record in the topic that an outbox publishes to.
struct PublishedRecord {
    int partition = 0;
    std::int64_t offset = -1;
    std::uint64_t message = 0;         // the id of the message that it was made of
    std::string id{};                  // that of the record, by which its copies are known
    std::optional<std::string> key{};  // records with the same one have an order
};

enum class LeaseState : std::uint8_t { in_flight, done, failed };

// A row of leases: the place is that of the message by which its key was claimed last.
struct Lease {
    int ledger = 0;
    std::string digest{};
    Place place{};
    LeaseState state = LeaseState::in_flight;
    int attempts = 0;
};

// One change of such a row, by a trigger of audit.sql as the fences' moves are.
struct LeaseMove {
    std::int64_t sequence = 0;
    Transaction transaction = 0;
    int ledger = 0;
    std::string digest{};
    int session = 0;
    std::string worker{};     // what that session calls itself
    bool claimed = false;     // taken, if only by who had it before; else somebody changed it
    std::string old_owner{};  // empty: the row was made
    std::string new_owner{};
    LeaseState old_state = LeaseState::in_flight;
    LeaseState new_state = LeaseState::in_flight;
    std::int64_t old_until_us = 0;
    std::int64_t new_until_us = 0;
    std::int64_t at_us = 0;
};

// A call that the server on the other side of a webhook has read.
struct Call {
    std::uint64_t message = 0;  // the id of the message in its body
    std::string key{};          // that goes along with it
    std::string worker{};       // who called
    std::int64_t at_us = 0;     // by the same clock as the database's
    int status = 0;             // of the answer; 0: there was none
    bool lost = false;          // its lease may have been lost by a fail-over or a restore
};

// A request to a route, each time that it was sent. `body` tells one body of a key from another,
// and stands in the effect's row.
struct Request {
    std::string key{};
    std::string body{};
    int status = 0;  // of the answer; 0: none came
    bool replayed = false;
    std::string problem{};                 // the type of a problem document
    std::string answer{};                  // its body
    std::optional<std::int64_t> effect{};  // the number of the effect that the answer names
    bool called = false;                   // its route leads to an upstream
    // From when to when it was on its way; 0: not known.
    std::int64_t sent_us = 0;
    std::int64_t ended_us = 0;
};

// A call that an upstream has read, and that was made for a request. The upstream honours the key:
// all calls that carry the same one have one effect together.
struct RouteCall {
    std::string request{};  // the key of the request
    std::string body{};     // which of the key's bodies
    std::string key{};      // that goes along with it
    int status = 0;         // of the answer; 0: there was none
    std::int64_t at_us = 0;
    bool lost = false;  // as with a Call
};

// A row that a request has made. The table has no unique constraint.
struct RequestEffect {
    std::int64_t number = 0;
    std::string key{};
    std::string body{};
    Transaction transaction = 0;
};

struct RequestClaim {
    int ledger = 0;
    std::string digest{};  // in hexadecimal
    Transaction transaction = 0;
};

// What is replayed to a repeat of the request.
struct StoredAnswer {
    int ledger = 0;
    std::string digest{};
    Transaction transaction = 0;
    std::optional<std::int64_t> effect{};
};

// Kafka's own offset of the group.
struct CommittedOffset {
    PartitionName name{};
    std::int64_t offset = 0;
};

// What an operator has done to a key, between these times.
struct KeyCommand {
    // A key that was claimed by an import, or may have been where that did not end well; one whose
    // claim was taken out by `forget`, or may have been.
    enum class What : std::uint8_t { imported, perhaps_imported, forgotten };
    What what = What::imported;
    int topic = 0;
    std::string key{};
    std::int64_t from_us = 0;
    std::int64_t to_us = 0;
};

// One topic is in trouble of its own for that time: its table is locked, for instance. All others
// must continue.
struct Trouble {
    int topic = 0;
    std::int64_t from_us = 0;
    std::int64_t to_us = 0;
};

// From then on nobody may move a fence of the topic.
struct Standstill {
    int topic = 0;
    std::int64_t from_us = 0;
};

// A partition that makes no progress on purpose; `said`: by log, metric or readiness.
struct Halted {
    PartitionName name{};
    bool said = false;
};

// A canary that stands where no secret may be.
struct SecretFound {
    std::string file{};
    std::int64_t line = 0;
};

enum class Policy : std::uint8_t { reject, skip, derive, remove };

struct TopicSettings {
    std::string name{};
    // Topics with the same operation and ledger share their keys. Empty: the topic's own.
    std::string operation{};
    std::string ledger{};
    bool per_partition = false;  // reach: partition
    bool upsert = false;         // else rows are only inserted
    bool compacted = false;      // messages may vanish from the log
    bool fingerprints = false;
    bool published = false;  // each effect is published as well, through the outbox
    bool leases = false;     // effects are calls, and what is done in `leases` are the claims
    // Keys come from the payload, which is decoded for them. Else a replay decodes what is fresh
    // alone: a bad payload whose key was applied may pass for a duplicate.
    bool key_in_payload = true;
    Policy tombstones = Policy::reject;   // reject, skip, remove
    Policy without_key = Policy::reject;  // reject, skip, derive
};

struct Settings {
    // None: longer than the run.
    std::optional<std::int64_t> retention_us{};
    bool failed_over = false;             // to a server that may have lost the last commits
    // Between these times the commits were made that it may have lost.
    std::int64_t lost_from_us = 0;
    std::int64_t lost_to_us = 0;
    bool committed_offset_moved = false;  // others moved the group's offset in Kafka
    bool rewound = false;                 // an operator moved a fence
    bool audited = false;                 // audit.sql was installed before the first worker
    // A fence's owner works through one session of the server; false with a pooler.
    bool one_session_each = true;
};

struct Evidence {
    Settings settings{};
    std::vector<TopicSettings> topics{};
    std::vector<ProducedMessage> produced{};
    std::vector<PartitionLog> log{};
    std::vector<Effect> effects{};
    std::vector<Claim> claims{};
    std::vector<Generation> generations{};
    std::vector<DeadLetter> dead_letters{};
    // What the log holds at the places of the dead letters; other places need not be here.
    std::map<Place, Content> contents{};
    std::vector<SkippedRange> skipped{};
    std::vector<Fence> fences{};
    std::vector<FenceMove> moves{};
    std::vector<GenerationDrop> drops{};
    std::vector<PublishedRecord> published{};
    std::int64_t outbox_rows = 0;  // written, and not known to be published
    std::vector<Lease> leases{};
    std::vector<LeaseMove> lease_moves{};
    std::vector<Call> calls{};
    std::vector<Request> requests{};
    std::vector<RouteCall> route_calls{};
    std::vector<RequestEffect> request_effects{};
    std::vector<RequestClaim> request_claims{};
    std::vector<StoredAnswer> stored_answers{};
    std::vector<CommittedOffset> committed{};
    std::vector<KeyCommand> key_commands{};
    std::vector<Halted> halted{};
    std::vector<Trouble> troubles{};
    std::vector<Standstill> standstills{};
    // Moves of the fences of replays, which are under groups of their own.
    std::vector<FenceMove> replay_moves{};
    std::vector<SecretFound> secrets{};
};

// What a client was told while commits were made that are lost, it was told of nothing: it knows no
// more than one without an answer. Calls of that time may be without a lease.
void excuse_what_was_lost(Evidence& evidence);

// The log as the produced list says: for runs without Kafka, with places that are all known.
// `ends`: where a partition ends in control records or aborted messages.
std::vector<PartitionLog> log_of(const std::vector<ProducedMessage>& produced,
                                 const std::map<PartitionName, std::int64_t>& ends = {});

}  // namespace onceward::checker
