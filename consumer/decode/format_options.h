#pragma once
// How a topic's payloads are read. Plain values.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace onceward {

// avro needs a schema registry (make_registry_decoder()); with one, json and protobuf read by the
// registry's schemas too.
enum class Format : std::uint8_t { json, protobuf, raw, avro };
// confluent: byte 0, a 4-byte schema id and, for Protobuf, the message's index path precede the
// payload.
enum class Framing : std::uint8_t { none, confluent };
// connect: {"schema": ..., "payload": X} is read as X. debezium: the row image `after` (or `before`
// of a delete) of a change event, also inside a connect envelope.
enum class Envelope : std::uint8_t { none, connect, debezium };
// The prefix of a path that begins at the change event instead of its row: `event:/source/lsn`.
inline constexpr std::string_view event_prefix = "event:";
// What a null payload means: `remove` deletes the sink's row (only if the sink can), or it is
// skipped and counted, or it goes to the dead letters.
enum class TombstonePolicy : std::uint8_t { remove, skip, reject };

// What a change event without a row (a truncate, a logical message) means.
enum class RowlessPolicy : std::uint8_t { reject, skip };

struct FormatOptions {
    Format format = Format::json;
    Framing framing = Framing::none;
    Envelope envelope = Envelope::none;
    TombstonePolicy tombstones = TombstonePolicy::reject;
    RowlessPolicy rowless = RowlessPolicy::reject;
    // Protobuf: a file with a FileDescriptorSet (protoc --include_imports --descriptor_set_out), or
    // .proto files.
    std::string descriptor_set;
    std::vector<std::string> proto_files;
    // Import roots for proto_files; the files' own folders are always among them.
    std::vector<std::string> proto_paths;
    std::string message;  // full name, such as `shop.v1.Payment`
};

}  // namespace onceward
