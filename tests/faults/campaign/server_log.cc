#include "tests/faults/campaign/server_log.h"

#include <fstream>

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

}  // namespace onceward::campaign
