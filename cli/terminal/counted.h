#pragma once
// Numbers of things in sentences. Pure.

#include <concepts>
#include <string>

namespace onceward {

// Such as `1 fault` and `2 faults`.
inline std::string counted(std::integral auto count, const std::string& noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace onceward
