#pragma once
// From a configuration to what the front door is made of. Pure; thread-safe.

#include <string>

#include "cli/configuration/configuration.h"
#include "gateway/contract/describe.h"

namespace onceward {

// REQUIRES: the configuration was checked.
GatewayOptions gateway_options(const Configuration& configuration);

// What `onceward describe` shows of the routes.
Contract contract_of(const Configuration& configuration, const std::string& version);

}  // namespace onceward
