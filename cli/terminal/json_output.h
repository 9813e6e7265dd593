#pragma once
// JSON on standard output, for programs that read a command's answer.

#include <nlohmann/json_fwd.hpp>

namespace onceward {

// With a line's end. Bytes that are not UTF-8 are replaced.
void print_json(const nlohmann::json& json);

}  // namespace onceward
