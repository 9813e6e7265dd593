#pragma once
// Reads an issuer's key set from an address or a file. Used by the key set's own thread. An error
// is a std::runtime_error.

#include <optional>
#include <string>

namespace onceward {

// TLS is verified, redirects are not followed; ten seconds, a megabyte at most.
// `ca_file`: PEM certificates to trust in place of the system's; '': the system's.
std::optional<std::string> fetch_key_set(const std::string& place, const std::string& ca_file = "");

}  // namespace onceward
