#pragma once
// Decoders of Avro's binary encoding, by the schema that a payload was written with. Only for the
// registry's decoder, which keeps one for each schema.

#include <memory>
#include <string>
#include <vector>

#include "consumer/decode/decoder.h"
#include "consumer/decode/schema_source.h"

namespace onceward {

// Throws FormatError for a path that is not a JSON pointer, or an envelope that Avro does not have.
void check_avro_paths(const FormatOptions& options, const std::vector<std::string>& paths);

// Throws FormatError for a schema that cannot be used. A path that it lacks is absent.
// REQUIRES: check_avro_paths() throws nothing.
std::unique_ptr<Decoder> make_avro_decoder(const WrittenSchema& schema,
                                           const FormatOptions& options,
                                           const std::vector<std::string>& paths);

}  // namespace onceward
