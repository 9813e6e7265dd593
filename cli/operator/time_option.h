#pragma once
// A time as an operator writes it: as it is printed, or how long ago. Pure but for the clock.

#include <chrono>
#include <optional>
#include <string>

namespace onceward {

// Since 1970-01-01 UTC; nullopt if the text is empty. `option`: what it was given for. Throws
// UsageError.
std::optional<std::chrono::milliseconds> time_of(const std::string& option,
                                                 const std::string& text);

}  // namespace onceward
