#pragma once
// Rows of an outbox for the tests of the relay's book, and what the book makes of them.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "consumer/relay/relay_book.h"

namespace onceward::relay_test {

inline constexpr RelayBook::Clock::time_point start{std::chrono::seconds{1000}};

inline OutboxRecord record(std::int64_t position, std::optional<std::string> key,
                           const std::string& topic = "topic", const std::string& payload = "") {
    OutboxRecord made;
    made.position = position;
    made.id.bytes[0] = static_cast<std::uint8_t>(position);
    made.topic = topic;
    made.order_key = made.key = std::move(key);
    made.payload = payload;
    return made;
}

// One row for each position from `first` on, each with a key of its own.
inline std::vector<OutboxRecord> different_keys(std::int64_t first, int rows,
                                                const std::string& topic = "topic") {
    std::vector<OutboxRecord> made;
    for (std::int64_t position = first; position < first + rows; ++position) {
        made.push_back(record(position, "key-" + std::to_string(position), topic));
    }
    return made;
}

// The positions that may be sent now; they are under way from here on.
inline std::vector<std::int64_t> sendable(RelayBook& book,
                                          RelayBook::Clock::time_point now = start) {
    std::vector<std::int64_t> positions;
    while (const OutboxRecord* next = book.next(now)) positions.push_back(next->position);
    return positions;
}

inline std::vector<std::int64_t> sent(RelayBook& book) {
    std::vector<std::int64_t> positions;
    for (const SentRow& row : book.take_sent()) positions.push_back(row.position);
    return positions;
}

}  // namespace onceward::relay_test
