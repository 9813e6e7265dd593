#include "tests/faults/campaign/server_log.h"

#include <fstream>
#include <utility>

namespace onceward::campaign {

bool a_worker_was_told(const std::filesystem::path& log, std::uintmax_t from,
                       const std::string& what) {
    std::ifstream file(log);
    file.seekg(static_cast<std::streamoff>(from));
    for (std::string line; std::getline(file, line);) {
        if (line.find(what) != std::string::npos &&
            line.find("onceward-worker") != std::string::npos)
            return true;
    }
    return false;
}

DeadlockWatch::DeadlockWatch(std::filesystem::path log)
    : log_(std::move(log)), begin_(std::filesystem::file_size(log_)) {}

std::int64_t DeadlockWatch::seen() const {
    std::ifstream file(log_);
    file.seekg(static_cast<std::streamoff>(begin_));
    std::int64_t count = 0;
    for (std::string line; std::getline(file, line);) {
        count += line.find("deadlock detected") != std::string::npos ? 1 : 0;
    }
    return count;
}

}  // namespace onceward::campaign
