#pragma once
// Whether a topic's log outlives the claims of what was read from it: then a rewind, or a redrive,
// may apply a message that was applied before. Pure; thread-safe.

#include <chrono>
#include <map>
#include <string>

namespace onceward {

// The warning about that; '' if the claims are kept as long as the messages, or the brokers do not
// say. `properties`: the topic's, as the brokers report them.
std::string rewind_warning(const std::map<std::string, std::string>& properties,
                           std::chrono::seconds claims_kept);

}  // namespace onceward
