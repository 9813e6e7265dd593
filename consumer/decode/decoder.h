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
#include <vector>

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
    virtual ~Decoder() = default;
    // Fills `values` from the payload: one value for each wanted path, absent if the payload lacks
    // it. After a rejection the values mean nothing. REQUIRES: the record has a payload;
    // values.size() == number of wanted paths.
    virtual Decoded decode(const Record& record, std::span<Value> values,
                           std::pmr::memory_resource& arena) = 0;
};

// `paths`: JSON pointers or Protobuf paths. A Protobuf path that the message type does not have
// throws FormatError.
std::unique_ptr<Decoder> make_decoder(const FormatOptions& options, std::vector<std::string> paths);

}  // namespace onceward
