// docs/quickstart.md as a reader follows it: its commands in one shell, in their order. The page is
// not changed for it. Only its surroundings differ: `make build` has been done, build/release leads
// to the build under test, and the two variables of the page name a broker and a database of ours.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "lab/embedded/child_process.h"
#include "tests/support/database.h"
#include "tests/support/kafka.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/postgres.h"
#include "tests/support/unique.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::SizeIs;

// A block of commands, and the blocks of output that follow it.
struct Step {
    std::string commands;
    std::vector<std::string> outputs;
};

std::string without_trailing_blanks(const std::string& text) {
    std::istringstream lines(text);
    std::string result;
    for (std::string line; std::getline(lines, line);) {
        line.erase(line.find_last_not_of(' ') + 1);
        result += line + "\n";
    }
    return result;
}

std::string contents(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

// Up to the heading `Read on`: what follows starts servers on fixed ports.
std::vector<Step> steps_of(std::istream&& page) {
    enum class Block { none, commands, output };
    std::vector<Step> steps;
    Block block = Block::none;
    for (std::string line; std::getline(page, line) && line != "## Read on";) {
        if (line.starts_with("```")) {
            const Block opened = line == "```" ? Block::commands : Block::output;
            block = block == Block::none ? opened : Block::none;
            if (block == Block::commands) steps.emplace_back();
            if (block == Block::output) steps.at(steps.size() - 1).outputs.emplace_back();
        } else if (block == Block::commands) {
            steps.back().commands += line + "\n";
        } else if (block == Block::output) {
            steps.back().outputs.back() += line + "\n";
        }
    }
    return steps;
}

class Quickstart : public testing::Test {
  protected:
    Quickstart() {
        fs::create_directories(folder_ / "build");
        fs::create_symlink(ONCEWARD_BUILD_FOLDER, folder_ / "build" / "release");
        Kafka(broker_.bootstrap_servers()).create_topic("payments", 1);
        Database(postgres().dsn).execute("CREATE DATABASE " + database_);
    }
    ~Quickstart() override {
        try {
            Database(postgres().dsn).execute("DROP DATABASE " + database_ + " WITH (FORCE)");
        } catch (const DatabaseError& error) {
            ADD_FAILURE() << error.what();
        }
        fs::remove_all(folder_);
    }

    // What each step printed. A command that fails ends the shell, and fails the test.
    std::vector<std::string> run(const std::vector<Step>& steps) {
        const fs::path output = folder_ / "output";
        std::ofstream script(folder_ / "script");
        script << "set -eu\n"
                  "make() { [ \"$*\" = build ]; }\n"
                  "trap 'kill -KILL $(jobs -p) 2> /dev/null || true' EXIT\n";
        for (const Step& step : steps) script << "echo '@@'\n" << step.commands;
        script.close();
        ChildProcess shell({.command = {"timeout", "-k", "10", "240", "bash", folder_ / "script"},
                            .environment = {"KAFKA_SERVERS=" + broker_.bootstrap_servers(),
                                            "ONCEWARD_DSN=" + dsn(), "PAGER="},
                            .output = output,
                            .folder = folder_,
                            .identity = {},
                            .parent_death_signal = SIGTERM});
        EXPECT_EQ(shell.wait(5min), 0);
        std::vector<std::string> printed;
        std::istringstream lines(contents(output));
        for (std::string line; std::getline(lines, line);) {
            if (line == "@@") {
                printed.emplace_back();
            } else if (!printed.empty()) {
                printed.back() += line + "\n";
            }
        }
        return printed;
    }

    std::string dsn() const { return postgres().dsn + " dbname=" + database_; }
    std::string log() const { return contents(folder_ / "build" / "quickstart" / "onceward.log"); }

  private:
    const std::string database_ = unique_name("quickstart");
    const fs::path folder_ = fs::temp_directory_path() / database_;
    KafkaBroker broker_;
};

TEST_F(Quickstart, EachCommandOfThePageSucceedsAndPrintsWhatThePageShows) {
    const std::vector<Step> steps =
        steps_of(std::ifstream(ONCEWARD_SOURCE_FOLDER "/docs/quickstart.md"));
    ASSERT_THAT(steps, SizeIs(7));
    const std::vector<std::string> printed = run(steps);
    std::size_t compared = 0;
    for (std::size_t i = 0; i < printed.size(); ++i) {
        for (const std::string& output : steps[i].outputs) {
            EXPECT_THAT(without_trailing_blanks(printed[i]),
                        HasSubstr(without_trailing_blanks(output)))
                << "after\n"
                << steps[i].commands;
            ++compared;
        }
    }
    EXPECT_EQ(printed.size(), steps.size()) << printed.back() << log();
    EXPECT_GE(compared, 4U) << "the page shows less than it did";
}

}  // namespace
}  // namespace onceward::support
