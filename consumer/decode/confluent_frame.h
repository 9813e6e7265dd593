#pragma once
// The Confluent wire format: what precedes a payload that was written with a schema registry, or
// travels next to it in the newer form. Pure functions on views. They throw nothing; a bad frame is
// a fault.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "dedup/message/message.h"

namespace onceward {

// Whether a list of message indexes follows the schema id: only Protobuf has one.
enum class MessageIndex : std::uint8_t { none, present };

struct ConfluentFrame {
    // Message types nest, but never this deep; a longer list is a fault.
    static constexpr std::size_t max_indexes = 32;

    const char* fault = nullptr;  // a sentence where the frame is bad
    std::string_view payload{};
    // Which message type of its file, as a path of positions. Empty: the frame does not say.
    std::span<const std::int32_t> index() const { return {indexes.data(), index_count}; }
    std::array<std::int32_t, max_indexes> indexes{};
    std::size_t index_count = 0;
};

// Reads byte 0, a 4-byte schema id and the message indexes off the payload, or, where the record
// has the header `__value_schema_id` (byte 1 and a 16-byte GUID, then maybe the indexes), leaves
// the payload whole. REQUIRES: the record has a payload.
ConfluentFrame read_confluent_frame(const Record& record, MessageIndex message_index);

}  // namespace onceward
