#include "tests/faults/checker/process_usage.h"

#include <filesystem>
#include <fstream>
#include <string>

namespace onceward::checker {

std::optional<ResourceSample> usage_of(int pid) {
    const std::filesystem::path folder = "/proc/" + std::to_string(pid);
    std::ifstream status(folder / "status");
    ResourceSample sample{.pid = pid};
    std::string name;
    while (status >> name) {
        if (name == "VmRSS:") status >> sample.rss_kib;
        if (name == "Threads:") status >> sample.threads;
        std::string rest;
        std::getline(status, rest);
    }
    std::error_code error;
    std::filesystem::directory_iterator entries(folder / "fd", error);
    for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
        ++sample.fds;
    }
    // A zombie has no memory left.
    if (error || sample.rss_kib == 0) return std::nullopt;
    return sample;
}

}  // namespace onceward::checker
