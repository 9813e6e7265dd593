#include "cli/bench/machine.h"

#include <sys/utsname.h>

#include <array>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

namespace onceward::bench {
namespace {

std::string content(const char* path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string today() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts);
    return text.data();
}

}  // namespace

std::string value_in(const std::string& text, const std::string& name) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const auto colon = line.find(':');
        if (colon == std::string::npos || !line.starts_with(name)) continue;
        if (line.find_first_not_of(" \t", name.size()) != colon) continue;
        const auto begin = line.find_first_not_of(" \t", colon + 1);
        return begin == std::string::npos ? "" : line.substr(begin);
    }
    return "";
}

std::vector<std::pair<std::string, std::string>> describe_machine() {
    std::vector<std::pair<std::string, std::string>> parts{{"day", today()}};
    const std::string processor = value_in(content("/proc/cpuinfo"), "model name");
    parts.emplace_back("processor", (processor.empty() ? "unknown" : processor) + ", " +
                                        std::to_string(std::thread::hardware_concurrency()) +
                                        " cores; broker, PostgreSQL and worker share them");
    const std::string memory = value_in(content("/proc/meminfo"), "MemTotal");
    if (!memory.empty()) {
        parts.emplace_back("memory", std::to_string(std::stoll(memory) / 1024) + " MiB");
    }
    utsname system{};
    if (uname(&system) == 0) {
        parts.emplace_back("kernel", std::string(system.sysname) + " " + system.release);
    }
    return parts;
}

}  // namespace onceward::bench
