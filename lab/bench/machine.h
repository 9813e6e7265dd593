#pragma once
// What a run was made on: for the report's head. Reads /proc; what cannot be read is left out.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace onceward::bench {

// Processor, cores, memory, kernel, day; the file system of the folder, an absolute path without
// links, in which the run keeps its files.
std::vector<std::pair<std::string, std::string>> describe_machine(const std::string& folder);

// The time of all processors since the machine started, in the kernel's ticks.
struct MachineTime {
    std::int64_t wanted = 0;  // not idle, what the host took away included
    std::int64_t stolen = 0;  // what it took away (proc_stat(5), steal)
};
MachineTime machine_time();
// Pure: from the first line of /proc/stat; zeros where it is none.
MachineTime machine_time_in(const std::string& stat);
// Pure: how much the host took away in between, for the report's head; ratios of a run with more
// than a few percent say little.
std::string stolen_between(const MachineTime& begin, const MachineTime& end);

// Pure: type and options of the file system that the path is on, by /proc/self/mountinfo
// (proc_pid_mountinfo(5)); '' where it says nothing.
std::string file_system_in(const std::string& mountinfo, const std::string& path);

// Pure: the first value under this name in text such as /proc/cpuinfo's and /proc/meminfo's; ''
// where there is none.
std::string value_in(const std::string& text, const std::string& name);
// That value of a file such as /proc/PID/status, which has it in kB; 0 if there is none.
double kilobytes_in(const std::string& file, const std::string& name);

}  // namespace onceward::bench
