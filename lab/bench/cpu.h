#pragma once
// How much CPU this process, a PostgreSQL server and a broker have used so far, according to /proc.
// Thread-safe; what cannot be read counts as nothing.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace onceward::bench {

// Seconds; NaN where the process is not known.
struct CpuTimes {
    double worker = 0;
    double postgres = 0;
    double broker = 0;
    friend CpuTimes operator-(const CpuTimes& end, const CpuTimes& begin);
};

struct CpuMeter {
    std::optional<pid_t> worker{};    // another program, with its children; none: this process
    std::optional<pid_t> postgres{};  // the postmaster, whose children are its sessions
    std::optional<pid_t> broker{};
    CpuTimes read() const;
};

double own_cpu_seconds();
// Includes its children that have ended. 0 if it is gone.
double cpu_seconds_of(pid_t process);

// Pure: clock ticks in a line of /proc/<pid>/stat, those of children that have ended included.
std::optional<std::int64_t> ticks_in(const std::string& stat);

}  // namespace onceward::bench
