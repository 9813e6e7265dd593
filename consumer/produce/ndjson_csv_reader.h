#pragma once
// Reads records from text: JSON objects, one a line (NDJSON), or CSV (RFC 4180) with the columns'
// names in its first line. Either way a record becomes the text of one JSON object. Used by one
// thread; the stream outlives the reader. Unreadable text is an InputError that names the line.
// After one, the next call continues after the bad record.

#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <stdexcept>
#include <string>

namespace onceward {

class InputError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct InputRecord {
    std::string json;
    std::int64_t line = 0;  // where it begins, from 1
};

// The next record; nullopt at the end. Empty lines are passed over.
using RecordReader = std::function<std::optional<InputRecord>()>;

RecordReader read_ndjson(std::istream& input);
// All values are JSON strings, so that `007` and `1.50` stay what they are; an empty field without
// quotes is left out. The first line is read here: throws InputError if there is none, or if a
// column has no name or the name of another one.
RecordReader read_csv(std::istream& input, char separator = ',');

}  // namespace onceward
