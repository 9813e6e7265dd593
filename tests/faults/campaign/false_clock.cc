#include "tests/faults/campaign/false_clock.h"

#include <fstream>
#include <stdexcept>

namespace onceward::campaign {
namespace {

constexpr const char* library_name = "libfaketimeMT.so.1";

// Debian keeps it in a folder of the machine's kind.
std::filesystem::path library() {
    std::error_code none;
    for (const auto& folder : std::filesystem::directory_iterator("/usr/lib", none)) {
        std::filesystem::path file = folder.path() / "faketime" / library_name;
        if (std::filesystem::exists(file, none)) return file;
    }
    return {};
}

}  // namespace

std::vector<std::string> false_clock(const std::filesystem::path& file) {
    const std::filesystem::path preloaded = library();
    if (preloaded.empty()) return {};
    return {"LD_PRELOAD=" + preloaded.string(), "FAKETIME_TIMESTAMP_FILE=" + file.string(),
            "FAKETIME_CACHE_DURATION=1", "FAKETIME_DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1"};
}

// A reader must never find half of it.
void set_false_clock(const std::filesystem::path& file, const std::string& offset) {
    std::filesystem::path next = file;
    next += ".next";
    std::ofstream written(next);
    written << offset << "\n";
    written.close();
    if (!written) throw std::runtime_error("cannot write " + next.string());
    std::filesystem::rename(next, file);
}

bool has_false_clock(pid_t process) {
    std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
    for (std::string line; std::getline(maps, line);) {
        if (line.find(library_name) != std::string::npos) return true;
    }
    return false;
}

}  // namespace onceward::campaign
