#pragma once
// Decoders of Protobuf by the .proto text that a payload was written with. Only for the registry's
// decoder, which keeps one for each schema. The frame's message indexes choose the message type.

#include <memory>
#include <string>
#include <vector>

#include "consumer/decode/decoder.h"
#include "consumer/decode/schema_source.h"

namespace onceward {

// Throws FormatError for an envelope, which Protobuf does not have.
void check_written_protobuf(const FormatOptions& options);

// Throws FormatError for a schema that does not compile. Imports are the schema's references,
// Google's well-known types, and the two files that Confluent's serializers bring. A path that the
// message type lacks is absent.
std::unique_ptr<Decoder> make_written_protobuf(const WrittenSchema& schema,
                                               std::vector<std::string> paths);

}  // namespace onceward
