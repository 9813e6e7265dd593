#include "tests/faults/campaign/server_log.h"

#include <fstream>
#include <functional>
#include <utility>

namespace onceward::campaign {
namespace {

std::int64_t count_lines(const std::filesystem::path& log, std::uintmax_t from,
                         const std::function<bool(const std::string&)>& counts) {
    std::ifstream file(log);
    file.seekg(static_cast<std::streamoff>(from));
    std::int64_t count = 0;
    for (std::string line; std::getline(file, line);) count += counts(line) ? 1 : 0;
    return count;
}

}  // namespace

bool a_worker_was_told(const std::filesystem::path& log, std::uintmax_t from,
                       const std::string& what) {
    return count_lines(log, from, [&](const std::string& line) {
               return line.find(what) != std::string::npos &&
                      line.find("onceward-worker") != std::string::npos;
           }) > 0;
}

bool a_coordinator_failed(const std::filesystem::path& log, const std::string& group) {
    return count_lines(log, 0, [&](const std::string& line) {
               return line.find("hit an unexpected exception") != std::string::npos &&
                      line.find("'" + group + "'") != std::string::npos;
           }) > 0;
}

DeadlockWatch::DeadlockWatch(std::filesystem::path log)
    : log_(std::move(log)), begin_(std::filesystem::file_size(log_)) {}

std::int64_t DeadlockWatch::seen() const {
    return count_lines(log_, begin_, [](const std::string& line) {
        return line.find("deadlock detected") != std::string::npos;
    });
}

}  // namespace onceward::campaign
