#include "lab/embedded/postgres_programs.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace onceward {
namespace {

namespace fs = std::filesystem;

bool has_server(const fs::path& folder) {
    return access((folder / "postgres").c_str(), X_OK) == 0 &&
           access((folder / "initdb").c_str(), X_OK) == 0;
}

std::optional<fs::path> packaged() {
    std::optional<fs::path> newest;
    int newest_version = 0;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator("/usr/lib/postgresql", error)) {
        const int version = std::atoi(entry.path().filename().c_str());
        if (version <= newest_version || !has_server(entry.path() / "bin")) continue;
        newest_version = version;
        newest = entry.path() / "bin";
    }
    return newest;
}

std::optional<fs::path> configured() {
    struct Close {
        void operator()(FILE* pipe) const { pclose(pipe); }
    };
    const std::unique_ptr<FILE, Close> pipe(popen("pg_config --bindir 2>/dev/null", "re"));
    char line[4096];
    if (!pipe || std::fgets(line, sizeof line, pipe.get()) == nullptr) return std::nullopt;
    std::string text(line);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (has_server(text)) return text;
    return std::nullopt;
}

std::optional<fs::path> in_path() {
    const char* path = std::getenv("PATH");
    std::istringstream folders(path == nullptr ? "" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (has_server(folder)) return folder;
    }
    return std::nullopt;
}

fs::path server_folder() {
    if (const char* named = std::getenv("ONCEWARD_POSTGRES_PROGRAMS")) {
        if (has_server(named)) return named;
        throw std::runtime_error("ONCEWARD_POSTGRES_PROGRAMS names " + std::string(named) +
                                 ", which has no programs `postgres` and `initdb`");
    }
    if (const auto folder = packaged()) return *folder;
    if (const auto folder = configured()) return *folder;
    if (const auto folder = in_path()) return *folder;
    throw std::runtime_error(
        "no PostgreSQL server is installed here: install one (on Debian: postgresql)");
}

}  // namespace

std::string postgres_program(const std::string& name) {
    static const fs::path folder = server_folder();
    return (folder / name).string();
}

bool has_postgres_program(const std::string& name) {
    return access(postgres_program(name).c_str(), X_OK) == 0;
}

}  // namespace onceward
