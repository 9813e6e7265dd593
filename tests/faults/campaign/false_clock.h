#pragma once
// A clock that is wrong by what a file says, for a process that is started with it: libfaketime
// does that where it is installed (scripts/setup test). What is measured by the monotonic clock is
// left alone, as when somebody sets a machine's time.

#include <filesystem>
#include <string>
#include <sys/types.h>
#include <vector>

namespace onceward::campaign {

// For the environment; empty where there is no libfaketime.
std::vector<std::string> false_clock(const std::filesystem::path& file);
// `offset` as libfaketime reads it, such as "+1d"; seen within a second or two. Throws
// std::runtime_error.
void set_false_clock(const std::filesystem::path& file, const std::string& offset);
// Whether the process was started with one.
bool has_false_clock(pid_t process);

}  // namespace onceward::campaign
