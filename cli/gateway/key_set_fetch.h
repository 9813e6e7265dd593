#pragma once
// Reads an issuer's key set from an address or a file. Used by the key set's own thread. An error
// is a std::runtime_error.

#include <optional>
#include <string>

namespace onceward {

// TLS is verified, redirects are not followed; ten seconds, a megabyte at most.
std::optional<std::string> fetch_key_set(const std::string& place);

}  // namespace onceward
