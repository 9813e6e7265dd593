#pragma once
// One value in the binary form that PostgreSQL's column takes. Pure, thread-safe; throws only
// std::bad_alloc. Nothing is lost on the way: a value that does not fit is refused, with a reason
// that quotes nothing of it.

#include <string>
#include <string_view>

#include "dedup/message/value.h"
#include "sinks/columns/catalog.h"

namespace onceward {

// Why a value fits no column of its type; a literal. Empty: it fits.
using Misfit = std::string_view;

// Appends a 32-bit length and the value, or length -1 for NULL (the value is absent or null). After
// a misfit the bytes after the old end of `out` mean nothing.
[[nodiscard]] Misfit append_value(const Value& value, const ColumnType& type, Provenance provenance,
                                  std::string& out);

}  // namespace onceward
