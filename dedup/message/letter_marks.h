#pragma once
// How a record of a topic of dead letters is recognised. Pure.

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "dedup/message/message.h"

namespace onceward {

// The header that names the message's own topic, as Onceward, Kafka Connect and Spring call it.
inline constexpr std::array<std::string_view, 3> letter_marks{
    "onceward-dlq-topic", "__connect.errors.topic", "kafka_dlt-original-topic"};

// Whether the record has one. Its other headers are then the message's and must not be changed.
inline bool is_dead_letter(std::span<const Header> headers) {
    return std::ranges::any_of(headers, [](const Header& header) {
        return std::ranges::find(letter_marks, header.name) != letter_marks.end();
    });
}

}  // namespace onceward
