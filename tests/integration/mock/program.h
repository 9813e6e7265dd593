#pragma once
// Runs the program, or the laboratory's, in a folder of its own, as a user would. Used by one
// thread.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "lab/embedded/child_process.h"
#include "tests/support/unique.h"

namespace onceward {

class ProgramTest : public testing::Test {
  protected:
    struct Outcome {
        int exit_code = -1;
        std::string output;  // both streams
    };

    explicit ProgramTest(std::string program = ONCEWARD_EXECUTABLE) : program_(std::move(program)) {
        std::filesystem::create_directories(temporary());
    }
    ~ProgramTest() override { std::filesystem::remove_all(folder_); }

    std::filesystem::path folder() const { return folder_; }
    // What the program takes for the system's folder for temporary files.
    std::filesystem::path temporary() const { return folder_ / "temporary"; }
    std::filesystem::path output_file() const { return folder_ / "output"; }
    std::filesystem::path write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name) << text;
        return folder_ / name;
    }
    static std::string read(const std::filesystem::path& file) {
        std::ifstream stream(file);
        return {std::istreambuf_iterator<char>(stream), {}};
    }

    ChildProcess start(std::vector<std::string> arguments) const {
        std::filesystem::remove(output_file());
        ChildOptions options;
        options.command = {program_};
        options.command.insert(options.command.end(), arguments.begin(), arguments.end());
        options.environment = {"TMPDIR=" + temporary().string()};
        options.output = output_file();
        return ChildProcess(options);
    }
    Outcome run(std::vector<std::string> arguments) const {
        ChildProcess process = start(std::move(arguments));
        return finish(process);
    }
    Outcome finish(ChildProcess& process) const {
        const auto status = process.wait(std::chrono::minutes{3});
        EXPECT_TRUE(status.has_value()) << "it is still running";
        Outcome outcome;
        if (status && WIFEXITED(*status)) outcome.exit_code = WEXITSTATUS(*status);
        outcome.output = read(output_file());
        return outcome;
    }

  private:
    std::string program_;
    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / support::unique_name("program");
};

}  // namespace onceward
