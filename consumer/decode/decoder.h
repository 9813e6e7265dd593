#pragma once
// From a record's bytes to the fields that key and sink ask for.
// A decoder belongs to one thread (the reader's). It throws only for a broken setup (a descriptor
// that does not load); bad data is a Rejection. Views in the values point into the record or the
// arena.

#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "consumer/decode/confluent_frame.h"
#include "consumer/decode/format_options.h"
#include "dedup/message/message.h"

namespace onceward {

// The topic's format cannot be set up: a missing descriptor file, an unknown message or path.
class FormatError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct Decoded {
    std::optional<Rejection> rejection;
    Operation operation = Operation::upsert;  // what a change event asks for
    // An envelope around null says what a null payload says; the values are absent.
    bool tombstone = false;
};

class Decoder {
  public:
    explicit Decoder(const FormatOptions& options)
        : framing_(options.framing),
          index_(options.format == Format::protobuf ? MessageIndex::present : MessageIndex::none) {}
    virtual ~Decoder() = default;
    // Fills `values` from the payload: one value for each wanted path, absent if the payload lacks
    // it. After a rejection the values mean nothing. REQUIRES: the record has a payload;
    // values.size() == number of wanted paths.
    Decoded decode(const Record& record, std::span<Value> values, std::pmr::memory_resource& arena);

  private:
    // The same for a payload that was taken out of its frame.
    virtual Decoded read(const ConfluentFrame& frame, std::span<Value> values,
                         std::pmr::memory_resource& arena) = 0;

    Framing framing_;
    MessageIndex index_;
};

// `paths`: JSON pointers or Protobuf paths. A Protobuf path that the message type does not have
// throws FormatError.
std::unique_ptr<Decoder> make_decoder(const FormatOptions& options, std::vector<std::string> paths);

// Two of the decoders that make_decoder() returns.
std::unique_ptr<Decoder> make_json_decoder(const FormatOptions& options,
                                           const std::vector<std::string>& paths);
std::unique_ptr<Decoder> make_protobuf_decoder(const FormatOptions& options,
                                               const std::vector<std::string>& paths);

// A verdict on the payload's bytes.
inline Decoded undecodable(std::string reason) {
    return {Rejection{Rejection::Kind::undecodable, std::move(reason), {}, 1}, Operation::upsert,
            false};
}

// Whether bytes are UTF-8. A pure function.
bool is_utf8(std::string_view bytes);

}  // namespace onceward
