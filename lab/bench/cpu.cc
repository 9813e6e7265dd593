#include "lab/bench/cpu.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "lab/embedded/child_process.h"

namespace onceward::bench {
namespace {

double of_family(const std::optional<pid_t>& parent) {
    if (!parent) return std::nan("");
    for (int tries = 1;; ++tries) {
        const double before = cpu_seconds_of(*parent);
        double seconds = before;
        for (const pid_t child : children_of(*parent)) seconds += cpu_seconds_of(child);
        // A child that was reaped meanwhile may be in neither of them.
        if (cpu_seconds_of(*parent) <= before || tries == 10) return seconds;
    }
}

}  // namespace

double cpu_seconds_of(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string line;
    std::getline(file, line);
    return static_cast<double>(ticks_in(line).value_or(0)) /
           static_cast<double>(sysconf(_SC_CLK_TCK));
}

double own_cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

CpuTimes operator-(const CpuTimes& end, const CpuTimes& begin) {
    return {end.worker - begin.worker, end.postgres - begin.postgres, end.broker - begin.broker};
}

CpuTimes CpuMeter::read() const {
    return {worker ? of_family(worker) : own_cpu_seconds(), of_family(postgres), of_family(broker)};
}

std::optional<std::int64_t> ticks_in(const std::string& stat) {
    // The program's name is in brackets and may itself contain brackets and spaces.
    const auto end_of_name = stat.rfind(')');
    if (end_of_name == std::string::npos) return std::nullopt;
    std::istringstream rest(stat.substr(end_of_name + 1));
    std::string skipped;
    for (int field = 3; field < 14; ++field) rest >> skipped;
    std::int64_t user = 0;
    std::int64_t system = 0;
    std::int64_t children_user = 0;
    std::int64_t children_system = 0;
    if (!(rest >> user >> system >> children_user >> children_system)) return std::nullopt;
    return user + system + children_user + children_system;
}

}  // namespace onceward::bench
