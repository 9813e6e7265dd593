#pragma once
// RFC 8941, as far as an Idempotency-Key needs it: an item whose value is a string. Pure;
// thread-safe.

#include <optional>
#include <string>
#include <string_view>

namespace onceward {

// The text of an item that is a string, such as `"8e03978e";v=1`, with its escapes resolved. Its
// parameters are read and ignored (RFC 8941, 3.3). nullopt for anything else.
std::optional<std::string> structured_string(std::string_view field);

}  // namespace onceward
