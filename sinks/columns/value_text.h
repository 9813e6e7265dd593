#pragma once
// A value in PostgreSQL's binary form as text, for people and for tests of a configuration. The
// text is PostgreSQL's own, but for booleans (true, false), documents (json and jsonb keep the
// sender's spelling) and times with a zone, which are in UTC. What the server does itself when it
// stores a value (it fills a char(n)) is not done. Pure.

#include <string>
#include <string_view>

#include "sinks/columns/catalog.h"

namespace onceward {

// REQUIRES: append_value() made the bytes for this type; they are without their length.
std::string value_text(std::string_view bytes, const ColumnType& type);

}  // namespace onceward
