#include "cli/composition/memory_budget.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <string>
#include <system_error>

#include "cli/configuration/databases.h"

namespace onceward {
namespace {

// nullopt for `max` and for what is not a number.
std::optional<std::int64_t> number_in(const std::filesystem::path& file) {
    std::ifstream stream(file);
    std::int64_t value = 0;
    if (!(stream >> value)) return std::nullopt;
    return value;
}

void lower(std::optional<std::int64_t>& limit, std::optional<std::int64_t> other) {
    if (other) limit = std::min(limit.value_or(*other), *other);
}

// The lowest limit of the group and of all groups above it. In a container the path may be the
// host's, which does not exist there; then the top is the container's own group.
std::optional<std::int64_t> lowest(const std::filesystem::path& top, const std::string& group,
                                   const char* file) {
    std::optional<std::int64_t> limit = number_in(top / file);
    std::filesystem::path folder = top;
    for (const std::filesystem::path& part : std::filesystem::path(group).relative_path()) {
        folder /= part;
        lower(limit, number_in(folder / file));
    }
    return limit;
}

}  // namespace

std::optional<std::int64_t> memory_limit(const std::filesystem::path& root) {
    std::optional<std::int64_t> limit;
    const std::int64_t pages = sysconf(_SC_PHYS_PAGES);
    const std::int64_t page = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page > 0) limit = pages * page;
    const std::filesystem::path groups = root / "sys/fs/cgroup";
    std::ifstream mine(root / "proc/self/cgroup");
    for (std::string line; std::getline(mine, line);) {
        // `0::/path` is version 2, `7:memory:/path` version 1.
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string group = line.substr(second + 1);
        if (controllers.empty()) lower(limit, lowest(groups, group, "memory.max"));
        if (("," + controllers + ",").find(",memory,") != std::string::npos) {
            lower(limit, lowest(groups / "memory", group, "memory.limit_in_bytes"));
        }
    }
    return limit;
}

std::optional<std::int64_t> memory_budget(std::optional<std::int64_t> configured,
                                          const std::filesystem::path& root) {
    if (configured) return *configured == 0 ? std::nullopt : configured;
    const std::optional<std::int64_t> limit = memory_limit(root);
    if (!limit) return std::nullopt;
    return *limit / 5 * 4;
}

std::int64_t claims_memory(std::optional<std::int64_t> configured,
                           std::optional<std::int64_t> budget) {
    constexpr std::int64_t most = std::int64_t{256} << 20;
    return configured.value_or(budget ? std::min(most, *budget / 3) : most);
}

std::int64_t claims_memory_each(const Configuration& whole, std::optional<std::int64_t> budget) {
    const auto servers = static_cast<std::int64_t>(used_databases(whole).size());
    return claims_memory(whole.claims_memory, budget) / std::max<std::int64_t>(servers, 1);
}

std::chrono::milliseconds next_count(std::int64_t left) {
    // 4 GiB a second, which is more than two cores inflate.
    constexpr std::int64_t most_a_millisecond = std::int64_t{4} << 20;
    return std::chrono::milliseconds(std::clamp<std::int64_t>(left / most_a_millisecond, 50, 200));
}

ResidentMemory::ResidentMemory(const std::filesystem::path& root)
    : file_(open((root / "proc/self/statm").c_str(), O_RDONLY | O_CLOEXEC)) {}

ResidentMemory::~ResidentMemory() {
    if (file_ >= 0) close(file_);
}

// The line begins with two numbers of pages: of all memory, and of what is resident.
std::optional<std::int64_t> ResidentMemory::bytes() const {
    std::array<char, 128> line{};
    const ssize_t size = pread(file_, line.data(), line.size(), 0);
    if (size <= 0) return std::nullopt;
    const char* const end = line.data() + size;
    const char* const resident = std::find<const char*>(line.data(), end, ' ') + 1;
    std::int64_t pages = 0;
    if (resident >= end || std::from_chars(resident, end, pages).ec != std::errc()) {
        return std::nullopt;
    }
    return pages * sysconf(_SC_PAGESIZE);
}

}  // namespace onceward
