#pragma once
// A clock that is wrong by what a file says, for a process that is started with it
// (false_clock_preload.cc), as when somebody sets a machine's time.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace onceward::campaign {

// Makes the file, with a clock that is right, and a copy of the library next to it, where the
// process's user may read both. Answers with the environment to start the process with. Throws
// std::runtime_error.
std::vector<std::string> false_clock(const std::filesystem::path& file);
// Takes effect at once. Throws std::runtime_error.
void set_false_clock(const std::filesystem::path& file, std::chrono::microseconds offset);
// Whether the process was started with one.
bool has_false_clock(pid_t process);

}  // namespace onceward::campaign
