#pragma once
// From a configuration to what the front door is made of. Thread-safe.

#include <optional>
#include <string>

#include "cli/configuration/configuration.h"
#include "gateway/contract/describe.h"

namespace onceward {

// REQUIRES: the configuration was checked.
GatewayOptions gateway_options(const Configuration& configuration);

// What `onceward describe` shows of the routes.
Contract contract_of(const Configuration& configuration, const std::string& version);

// Reads an issuer's key set from an address or a file. An error is a std::runtime_error. TLS is
// verified, redirects are not followed; ten seconds, a megabyte at most. `ca_file`: PEM
// certificates to trust in place of the system's; '': the system's.
std::optional<std::string> fetch_key_set(const std::string& place, const std::string& ca_file = "");

}  // namespace onceward
