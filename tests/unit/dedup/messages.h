#pragma once
// Messages, chunks and spans for the tests of the pure rules.

#include <string>
#include <utility>
#include <vector>

#include "dedup/message/batch.h"

namespace onceward::test {

inline Digest digest(std::uint8_t first) {
    Digest value;
    value.bytes[0] = first;
    return value;
}

inline Message message(int partition, std::int64_t offset, Digest key = {}) {
    Message value;
    value.record.partition = Partition{partition};
    value.record.offset = Offset{offset};
    value.digest = key;
    return value;
}

inline Span span(int partition, std::int64_t begin, std::int64_t end) {
    return {Partition{partition}, Offset{begin}, Offset{end}};
}

// (partition, offset) of each message, and the spans that they were read in.
inline Chunk chunk(const std::vector<std::pair<int, std::int64_t>>& places,
                   std::vector<Span> spans) {
    Chunk value;
    for (const auto& [partition, offset] : places) {
        value.messages.push_back(message(partition, offset));
    }
    value.spans = std::move(spans);
    return value;
}

inline std::vector<std::pair<int, std::int64_t>> places(const Slice& slice) {
    std::vector<std::pair<int, std::int64_t>> all;
    for (const Message* message : slice.messages) {
        all.emplace_back(message->record.partition.raw(), message->record.offset.raw());
    }
    return all;
}

}  // namespace onceward::test
