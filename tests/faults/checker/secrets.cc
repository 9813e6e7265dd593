#include "tests/faults/checker/secrets.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace onceward::checker {

std::vector<SecretFound> find_secrets(const std::filesystem::path& folder,
                                      const std::vector<std::string>& canaries,
                                      const std::vector<std::string>& except) {
    if (!std::filesystem::is_directory(folder)) {
        throw std::runtime_error("no folder " + folder.string());
    }
    std::vector<SecretFound> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (!entry.is_regular_file()) continue;
        const std::string name = entry.path().filename().string();
        if (std::ranges::find(except, name) != except.end()) continue;
        std::ifstream file(entry.path(), std::ios::binary);
        if (!file) throw std::runtime_error("cannot read " + entry.path().string());
        std::string line;
        for (std::int64_t number = 1; std::getline(file, line); ++number) {
            const bool told = std::ranges::any_of(canaries, [&](const std::string& canary) {
                return !canary.empty() && line.find(canary) != std::string::npos;
            });
            if (told) {
                found.push_back({std::filesystem::relative(entry.path(), folder).string(), number});
            }
        }
    }
    return found;
}

}  // namespace onceward::checker
