#pragma once
// The headers that a record in a topic of dead letters has after its message's own: where the
// message came from and why it was rejected, as Onceward, Kafka Connect (KIP-298) or Spring for
// Kafka writes them. Plain values; pure, thread-safe. Nothing here throws.

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "dedup/message/message.h"

namespace onceward {

enum class LetterStyle : std::uint8_t { onceward, connect, spring };
std::string_view to_text(LetterStyle style);

// Where dead letters are published in addition to their table.
struct LetterTopic {
    std::string topic;
    LetterStyle style = LetterStyle::onceward;
};

// What the headers say. A style has only some of it; what it lacks stays as it is here.
struct LetterOrigin {
    std::string topic;
    Partition partition;
    Offset offset;
    std::optional<std::chrono::milliseconds> timestamp{};  // since 1970-01-01 UTC
    bool log_append_time = false;
    // The consumer group that rejected the message; in Kafka Connect's style the connector.
    std::string group{};
    // The identity of the topic's log, as the table of dead letters has it; '' if it is not known.
    std::string identity{};
    Rejection::Kind kind = Rejection::Kind::sink;
    std::string reason{};
    std::string sqlstate{};
    int attempts = 1;
    std::optional<std::string> key_text{};  // of the idempotency key
    std::optional<Digest> digest{};
    friend bool operator==(const LetterOrigin&, const LetterOrigin&) = default;
};

struct LetterHeader {
    std::string_view name;  // a literal
    std::string value;
    friend bool operator==(const LetterHeader&, const LetterHeader&) = default;
};

// What follows the message's own headers, in this order.
std::vector<LetterHeader> letter_headers(LetterStyle style, const LetterOrigin& origin);

struct ReadLetter {
    LetterStyle style = LetterStyle::onceward;
    bool by_onceward = false;  // in whichever style
    LetterOrigin origin;
    // The message's own headers: views of the record's.
    std::vector<Header> headers;
};

// Reads the headers of a record in such a topic, in any style. If there are several styles, the one
// that was added last counts. Only what was added last is removed: a message that comes from a
// topic of dead letters itself keeps the headers that it had there. The alternative is the reason
// why the record cannot be read as a dead letter.
std::variant<ReadLetter, std::string> read_letter(std::span<const Header> headers);

}  // namespace onceward
