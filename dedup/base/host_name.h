#pragma once
// The name of this machine, as the system has it; '' if it has none. Thread-safe.

#include <string>

namespace onceward {

std::string host_name();

}  // namespace onceward
