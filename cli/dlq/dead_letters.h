#pragma once
// Dead letters as an operator picks them, for `onceward dlq`. Plain values; functions that query
// the database are for one thread, and throw PostgresError.

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/base/types.h"
#include "dedup/message/message.h"
#include "dedup/postgres/connection.h"

namespace onceward {

struct DeadLetterFilter {
    std::string group = {};
    std::string topic = {};                               // '': any
    std::vector<std::string> classes = {};                // as Rejection::Kind is named; none: any
    std::optional<std::chrono::milliseconds> since = {};  // of the rejection; since 1970-01-01 UTC
    std::optional<std::chrono::milliseconds> until = {};  // exclusive
    std::string key = {};                    // the idempotency key's text, or the record's; '': any
    std::vector<std::int64_t> numbers = {};  // none: any
    // open: nobody has dealt with it. redriving: marked by a redrive that has not ended. redriven.
    // resolved: by hand, or by a rewind. Empty: any.
    std::vector<std::string> states = {};
    std::int64_t after = 0;  // those with a higher number; they begin with 1
    std::int64_t limit = 0;
};

// $1 to $10 of the queries that have this filter, and their {matching}: the letters that match it.
Parameters parameters_of(const DeadLetterFilter& filter);
Connection::Names matching_letters(const Connection& connection);

struct Letter {
    std::int64_t number = 0;
    std::string topic;
    Partition partition;
    Offset offset;
    std::string error_class;
    std::string sqlstate;
    std::string reason;
    std::string created_at;
    std::string state;
    std::int64_t attempts = 0;
    std::optional<std::string> key_text;
    std::optional<std::string> record_key;
    std::int64_t payload_bytes = 0;
    int redrives = 0;  // of the message, by its header; those of its earlier copies included
    bool sent_before = false;  // a redrive has begun with this letter
    // It was marked or resolved before the claims of its ledger begin: a copy that was applied then
    // has no claim any more.
    bool forgotten = false;
};

// Whether, with `order: by_key`, messages of the same record key wait for it while it is open.
// Copies of hot keys hold back no message.
bool holds_its_key(const Letter& letter);

// Letters of one cause.
struct LetterGroup {
    std::string topic;
    std::string error_class;
    std::string sqlstate;
    std::string column;  // that the reason names; '' if it names none
    std::string reason;  // with `…` in place of numbers and quoted values
    std::int64_t count = 0;
    std::string oldest;
    std::string newest;
    std::int64_t newest_number = 0;
    std::string example;  // the reason of the newest
};

// Those with the most letters first; the filter's limit counts causes. All letters that it picks
// are read: the count is exact.
std::vector<LetterGroup> summarize_letters(Connection& connection,
                                           const DeadLetterFilter& filter);
nlohmann::json to_json(const LetterGroup& group);

// The oldest first.
std::vector<Letter> select_letters(Connection& connection, const DeadLetterFilter& filter);
std::vector<std::int64_t> numbers_of(const std::vector<Letter>& letters);

// Deletes those of the letters that are still in the state in which they were selected, and writes
// down the reason. Returns how many. The others stay: somebody else deals with them.
std::int64_t discard_unchanged(Connection& connection, const std::vector<Letter>& letters,
                               const std::string& reason);
// The {unchanged} of queries that change letters: those of $1 that are still in their state of $3.
Connection::Names unchanged_letters(const Connection& connection);

// A header as the table holds it.
struct StoredHeader {
    std::string name;
    std::optional<std::string> value;  // nullopt: a null header
    friend bool operator==(const StoredHeader&, const StoredHeader&) = default;
};

// From the table's JSON, in the record's order. Throws std::runtime_error if it is not ours.
std::vector<StoredHeader> stored_headers(std::string_view json);

// By its redriven_header; 0 if there is no such header, or no number in it.
int redrives_of(const std::vector<StoredHeader>& headers);

// The record that a letter was made of.
struct DeadLetterRecord {
    std::int64_t number = 0;
    Partition partition;
    std::optional<std::string> key;
    std::optional<std::string> payload;
    std::vector<StoredHeader> headers;
    // For a conflict also the fingerprint of the message that has the key, and the table's JSON of
    // the places where that message may be.
    std::optional<std::string> fingerprint{};
    std::optional<std::string> first_fingerprint{};
    std::optional<std::string> first_places{};
};

// Those records that are still there, in the order of `numbers`.
std::vector<DeadLetterRecord> read_records(Connection& connection,
                                           const std::vector<std::int64_t>& numbers);

// For `dlq --json` and the admin port's page. Bytes are as printable() writes them.
nlohmann::json to_json(const Letter& letter);
// With payload and headers.
nlohmann::json to_json(const Letter& letter, const DeadLetterRecord& record);

}  // namespace onceward
