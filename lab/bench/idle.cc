#include "lab/bench/idle.h"

#include <unistd.h>

#include <csignal>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "lab/bench/worker_process.h"

namespace onceward::bench {
namespace {

double resident_megabytes(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/statm");
    std::int64_t all = 0;
    std::int64_t resident = 0;
    if (!(file >> all >> resident)) throw std::runtime_error("the idle worker is gone");
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

}  // namespace

IdleCost run_idle(const Place& place, const Workload& empty_topic, Tables& tables,
                  std::chrono::milliseconds duration) {
    WorkerProcess worker(place, empty_topic, tables);
    // What a start leaves to be done is over by then.
    std::this_thread::sleep_for(duration / 5);
    const auto begin = std::chrono::steady_clock::now();
    const double cpu = cpu_seconds_of(worker.pid());
    std::this_thread::sleep_for(duration);
    const double seconds = seconds_since(begin);
    IdleCost cost;
    cost.percent_of_a_core = (cpu_seconds_of(worker.pid()) - cpu) / seconds * 100;
    cost.megabytes = resident_megabytes(worker.pid());
    worker.end(SIGTERM);
    return cost;
}

}  // namespace onceward::bench
