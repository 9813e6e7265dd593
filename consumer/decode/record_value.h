#pragma once
// The parts of a record that need no decoder: header, key, payload, metadata, constant. Pure
// functions.

#include <memory_resource>
#include <string_view>

#include "dedup/message/message.h"
#include "dedup/message/value.h"

namespace onceward {

// A missing header is absent; a null header, key or payload is null; bytes that are UTF-8 are text.
// `topic` is copied into the arena where it is asked for. REQUIRES: source.kind is not field.
Value record_value(const FieldSource& source, const Record& record, std::string_view topic,
                   std::pmr::memory_resource& arena);

// Throws FormatError for metadata that does not exist.
void check_source(const FieldSource& source);

}  // namespace onceward
