#pragma once
// A place in the source as people read it, in errors and log lines. Pure, thread-safe.

#include <source_location>
#include <string>

namespace onceward {

// `dedup/fence/fence.cc:120`: the path in this project's tree. Of a file elsewhere, such as an
// application's own, its name alone. Never a folder of the machine that built the program.
std::string place_of(const std::source_location& where);

}  // namespace onceward
