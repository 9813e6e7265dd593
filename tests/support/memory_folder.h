#pragma once
// Where tests keep the files of their servers. A pure question to the system; any thread.

#include <filesystem>

namespace onceward::support {

// A memory file system if the machine has one with room, or else the system's folder for temporary
// files. Tests kill processes and not the machine, so the files outlive it on either. A schema and
// a topic for each test are thousands of small files: on a disk integration_dedup took 137 instead
// of 123 processor seconds.
std::filesystem::path memory_folder();

}  // namespace onceward::support
