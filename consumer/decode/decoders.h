#pragma once
// The decoders that make_decoder() returns, one for each format. Errors and threads: see
// consumer/decode/decoder.h.

#include "consumer/decode/decoder.h"

namespace onceward {

std::unique_ptr<Decoder> make_json_decoder(const FormatOptions& options,
                                           const std::vector<std::string>& paths);
std::unique_ptr<Decoder> make_protobuf_decoder(const FormatOptions& options,
                                               const std::vector<std::string>& paths);
// Knows one path: '', the whole payload.
std::unique_ptr<Decoder> make_raw_decoder(const FormatOptions& options,
                                          const std::vector<std::string>& paths);

// A verdict on the payload's bytes.
inline Decoded undecodable(std::string reason) {
    return {.rejection = Rejection{Rejection::Kind::undecodable, std::move(reason), {}, 1},
            .operation = Operation::upsert,
            .tombstone = false};
}

}  // namespace onceward
