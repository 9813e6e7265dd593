#pragma once
// What a run was made on: for the report's head. Reads /proc; what cannot be read is left out.

#include <string>
#include <utility>
#include <vector>

namespace onceward::bench {

// Processor, cores, memory, kernel, day.
std::vector<std::pair<std::string, std::string>> describe_machine();

// Pure: the first value under this name in text such as /proc/cpuinfo's and /proc/meminfo's; ''
// where there is none.
std::string value_in(const std::string& text, const std::string& name);

}  // namespace onceward::bench
