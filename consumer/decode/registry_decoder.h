#pragma once
// Decodes payloads by the schema that each was written with, which a schema registry keeps under
// the id in the message's Confluent frame. A decoder for each schema is compiled when the first
// message of it arrives, and the last ones used are kept; `source` is not asked about those again,
// since a registry never changes a schema.
// Belongs to one thread, like any Decoder. What it answers beyond the other decoders:
// Decoded::awaits_schema the source does not know the schema yet; decode again later Rejection
// unknown_schema the registry has no schema of that id
//   Rejection undecodable        a schema that cannot be used (the reason has its id), one of
//                                another language than `options.format`, a bad payload
// A wanted path that the writer's schema lacks is absent: writers' schemas differ.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "consumer/decode/decoder.h"
#include "consumer/decode/schema_source.h"

namespace onceward {

// How many schemas a decoder keeps compiled. More cost memory, tens of kilobytes each with
// Protobuf. If a topic alternates between more schemas than this, one is compiled for each message.
inline constexpr std::size_t kept_schemas = 128;

// `options.format` is avro, protobuf or json: the language that the topic's schemas have to be in.
// Paths are JSON pointers (`/order/id`, '' is the whole payload), for Protobuf dotted paths.
// options.envelope: as for JSON; `debezium` also with Avro. The Confluent frame is always expected,
// and options.framing is ignored; options.message, descriptor_set and proto_files are not read.
// Throws FormatError for another format, a malformed path, or an envelope that the format cannot
// have.
std::unique_ptr<Decoder> make_registry_decoder(const FormatOptions& options,
                                               std::vector<std::string> paths,
                                               std::shared_ptr<SchemaSource> source,
                                               std::size_t kept = kept_schemas);

}  // namespace onceward
