#pragma once
// From the text of a JSON object to a record's payload in a topic's format, and to single fields of
// it. Belongs to one thread. A format that cannot be set up is a FormatError, an object that does
// not fit is an EncodeError.

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "consumer/decode/decoder.h"

namespace onceward {

class EncodeError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

class RecordEncoder {
  public:
    struct Encoded {
        std::string payload;
        // In the order of the constructor's `fields`: a string without its quotes, a number or
        // boolean as it was written, nullopt if the field is absent or null.
        std::vector<std::optional<std::string>> fields;
    };
    // `fields`: JSON pointers (`/order/id`), or names of members of the object itself. JSON goes
    // out as it came in, Protobuf by Protobuf's own JSON mapping. Throws FormatError.
    explicit RecordEncoder(const FormatOptions& format, std::vector<std::string> fields = {});
    // Throws EncodeError.
    Encoded encode(std::string_view json);

  private:
    std::vector<std::string> fields_;
    std::unique_ptr<Decoder> json_;  // the worker's own reader, so that both refuse the same text
    std::vector<Value> values_;
    std::function<std::string(const std::string&)> protobuf_;  // empty: JSON goes out
};

}  // namespace onceward
