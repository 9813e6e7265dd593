#include "lab/bench/machine.h"

#include <sys/utsname.h>

#include <array>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "lab/bench/format.h"

namespace onceward::bench {
namespace {

std::string content(const std::string& path) {
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

double kilobytes_in(const std::string& file, const std::string& name) {
    const std::string value = value_in(content(file), name);
    return value.empty() ? 0 : std::stod(value);
}

MachineTime machine_time_in(const std::string& stat) {
    std::istringstream line(stat);
    std::string name;
    std::int64_t user = 0, nice = 0, system = 0, idle = 0, waiting = 0, hard = 0, soft = 0;
    std::int64_t stolen = 0;
    if (!(line >> name >> user >> nice >> system >> idle >> waiting >> hard >> soft >> stolen) ||
        name != "cpu") {
        return {};
    }
    return {user + nice + system + hard + soft + stolen, stolen};
}

MachineTime machine_time() { return machine_time_in(content("/proc/stat")); }

std::string stolen_between(const MachineTime& begin, const MachineTime& end) {
    const auto wanted = static_cast<double>(end.wanted - begin.wanted);
    const double share =
        wanted > 0 ? static_cast<double>(end.stolen - begin.stolen) / wanted * 100 : 0;
    return fixed(share, 1) + " % of the processors' time that was wanted in this run";
}

std::string file_system_in(const std::string& mountinfo, const std::string& path) {
    std::istringstream lines(mountinfo);
    std::string found;
    std::size_t longest = 0;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string skipped, point, type, device, options;
        words >> skipped >> skipped >> skipped >> skipped >> point;
        while (words >> skipped && skipped != "-") continue;
        if (!(words >> type >> device >> options)) continue;
        const bool is_root = point == "/";
        const bool holds = is_root || path == point || path.starts_with(point + "/");
        // If two curves share a point, the later one hides the other.
        if (!holds || point.size() < longest) continue;
        longest = point.size();
        found = type + " (" + options + ")";
    }
    return found;
}

std::vector<std::pair<std::string, std::string>> describe_machine(const std::string& folder) {
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
    const std::string files = file_system_in(content("/proc/self/mountinfo"), folder);
    if (!files.empty()) parts.emplace_back("file system", files);
    return parts;
}

}  // namespace onceward::bench
