#pragma once
// The contract that a configuration makes with those who produce to its topics. Pure; thread-safe.

#include <string>

#include "cli/configuration/configuration.h"

namespace onceward {

// A paragraph for each topic; '' if there is none.
std::string topic_contracts(const Configuration& configuration);

}  // namespace onceward
