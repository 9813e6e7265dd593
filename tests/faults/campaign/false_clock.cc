#include "tests/faults/campaign/false_clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <stdexcept>

namespace onceward::campaign {
namespace {

constexpr const char* library_name = "false-clock.so";

}  // namespace

std::vector<std::string> false_clock(const std::filesystem::path& file) {
    const std::filesystem::path library = file.parent_path() / library_name;
    if (!std::filesystem::exists(library)) {
        std::filesystem::copy_file(ONCEWARD_FALSE_CLOCK_LIBRARY, library);
        std::filesystem::permissions(library, std::filesystem::perms::others_read,
                                     std::filesystem::perm_options::add);
    }
    if (!std::filesystem::exists(file)) {
        std::ofstream(file) << std::string(sizeof(std::int64_t), '\0');
        set_false_clock(file, {});
    }
    return {"LD_PRELOAD=" + library.string(), "ONCEWARD_FALSE_CLOCK=" + file.string()};
}

// In place: processes have it in their memory.
void set_false_clock(const std::filesystem::path& file, std::chrono::microseconds offset) {
    const std::int64_t value = offset.count();
    const int descriptor = open(file.c_str(), O_WRONLY | O_CLOEXEC);
    const ssize_t size = descriptor < 0 ? -1 : pwrite(descriptor, &value, sizeof value, 0);
    if (descriptor >= 0) close(descriptor);
    if (size != sizeof value) throw std::runtime_error("cannot write " + file.string());
}

bool has_false_clock(pid_t process) {
    std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
    for (std::string line; std::getline(maps, line);) {
        if (line.find(library_name) != std::string::npos) return true;
    }
    return false;
}

}  // namespace onceward::campaign
