#pragma once
// Runs the program in a folder of its own, without the variables that a configuration or a terminal
// may set. Used by one thread.

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/unique.h"

namespace onceward::cli_tests {

struct Ran {
    int exit_code = -1;
    std::string output;  // standard output
    std::string errors;  // standard error
};

class Folder {
  public:
    Folder() { std::filesystem::create_directories(path_); }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    void write(const std::string& name, const std::string& text) const {
        std::ofstream(path_ / name) << text;
    }
    std::filesystem::path path() const { return path_; }

    // `line`: as a shell reads it; `before`: variables, such as `A=b`.
    Ran run(const std::string& line, const std::string& before = "") const {
        const auto errors = path_ / ".errors";
        const std::string command = in_folder(line, before) + " 2>'" + errors.string() + "'";
        FILE* pipe = ::popen(command.c_str(), "r");
        if (pipe == nullptr) throw std::runtime_error("cannot start a shell");
        Ran ran;
        std::array<char, 4096> block{};
        for (std::size_t count = 0;
             (count = std::fread(block.data(), 1, block.size(), pipe)) > 0;) {
            ran.output.append(block.data(), count);
        }
        const int status = ::pclose(pipe);
        ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        ran.errors = read(errors);
        return ran;
    }
    // The same on a terminal, which shows both streams.
    std::string on_terminal(const std::string& line, const std::string& before = "") const {
        int screen = -1;
        const pid_t child = ::forkpty(&screen, nullptr, nullptr, nullptr);
        if (child < 0) throw std::runtime_error("there is no terminal");
        if (child == 0) {
            const std::string command = in_folder(line, "TERM=xterm " + before);
            ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
            ::_exit(127);
        }
        std::string shown;
        std::array<char, 4096> block{};
        // The end of a terminal is an error.
        for (ssize_t count = 0; (count = ::read(screen, block.data(), block.size())) > 0;) {
            shown.append(block.data(), static_cast<std::size_t>(count));
        }
        ::close(screen);
        int status = 0;
        ::waitpid(child, &status, 0);
        return shown;
    }

    static std::string read(const std::filesystem::path& file) {
        std::ifstream stream(file, std::ios::binary);
        return {std::istreambuf_iterator<char>(stream), {}};
    }

  private:
    std::string in_folder(const std::string& line, const std::string& before) const {
        return "cd '" + path_.string() +
               "' && env -u ONCEWARD_CONFIG -u ONCEWARD_DSN -u KAFKA_SERVERS -u NO_COLOR " +
               before + " '" + ONCEWARD_EXECUTABLE + "' " + line;
    }

    std::filesystem::path path_ =
        std::filesystem::temp_directory_path() / support::unique_name("command");
};

// With ONCEWARD_WRITE_GOLDEN set, a test writes what the program says instead of comparing it.
inline bool writes_golden() { return std::getenv("ONCEWARD_WRITE_GOLDEN") != nullptr; }

inline std::filesystem::path golden_folder() {
    return std::filesystem::path(ONCEWARD_SOURCE_FOLDER) / "tests/unit/cli/golden";
}

}  // namespace onceward::cli_tests
