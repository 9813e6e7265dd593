// What `help`, --help and `version` say of every command: as the files in golden/help/ have it, and
// as docs/commands.md lists it. After a change that is meant:
//     ONCEWARD_WRITE_GOLDEN=1 build/release/tests/unit_cli --gtest_filter='Help.*:Mistakes.*'

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "tests/unit/cli/commands/program_run.h"

namespace onceward::cli_tests {
namespace {

using testing::HasSubstr;

class Help : public testing::Test {
  protected:
    Help() { collect(nlohmann::json::parse(folder_.run("help --json").output)); }

    void collect(const nlohmann::json& command) {
        commands_.push_back(command);
        for (const auto& one : command.at("commands")) collect(one);
    }
    // Such as `dlq redrive`; '' for the program.
    static std::string words(const nlohmann::json& command) {
        return std::regex_replace(command.at("name").get<std::string>(), std::regex("^onceward ?"),
                                  "");
    }
    static std::filesystem::path golden(const nlohmann::json& command) {
        std::string name = command.at("name").get<std::string>();
        std::ranges::replace(name, ' ', '_');
        return golden_folder() / "help" / (name + ".txt");
    }
    static bool is_leaf(const nlohmann::json& command) { return command.at("commands").empty(); }

    Folder folder_;
    std::vector<nlohmann::json> commands_;
};

TEST_F(Help, OfEachCommandIsAsItsFileHasIt) {
    std::set<std::filesystem::path> files;
    for (const auto& command : commands_) {
        const Ran ran = folder_.run(words(command) + " --help");
        EXPECT_EQ(ran.exit_code, 0);
        if (writes_golden()) std::ofstream(golden(command)) << ran.output;
        EXPECT_EQ(ran.output, Folder::read(golden(command))) << golden(command);
        files.insert(golden(command));
    }
    for (const auto& entry : std::filesystem::directory_iterator(golden_folder() / "help")) {
        EXPECT_TRUE(files.contains(entry.path())) << entry.path() << " is of no command";
    }
}

TEST_F(Help, OfRunAloneNamesTheMemoryBudget) {
    EXPECT_THAT(folder_.run("run --help").output, HasSubstr("75 it reached its memory budget"));
    EXPECT_THAT(folder_.run("serve --help").output, testing::Not(HasSubstr("memory budget")));
}

TEST_F(Help, FitsInAHundredColumnsAndHasExamplesAndExitCodes) {
    for (const auto& command : commands_) {
        SCOPED_TRACE(command.at("name"));
        const std::string text = folder_.run(words(command) + " --help").output;
        for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
            EXPECT_LE(text.find('\n', begin) - begin, 100U) << text.substr(begin, 120);
        }
        if (!is_leaf(command)) continue;
        EXPECT_THAT(text, HasSubstr("Exit codes: "));
        EXPECT_THAT(text, HasSubstr("Examples:\n"));
        EXPECT_THAT(text, HasSubstr("--json"));
    }
}

TEST_F(Help, WithACommandIsThatOfTheCommand) {
    EXPECT_EQ(folder_.run("help dlq redrive").output, folder_.run("dlq redrive --help").output);
    EXPECT_EQ(folder_.run("help").output, folder_.run("--help").output);
    const Ran unknown = folder_.run("help dlq redrve");
    EXPECT_EQ(unknown.exit_code, 64);
    EXPECT_THAT(unknown.errors, HasSubstr("`redrve` of `dlq`; did you mean `redrive`?"));
}

TEST_F(Help, WithoutACommandShowsFourGroups) {
    const Ran ran = folder_.run("");
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_EQ(ran.output, folder_.run("help").output);
    std::vector<std::string> groups;
    for (const auto& command : commands_.front().at("commands")) {
        const auto group = command.at("group").get<std::string>();
        if (groups.empty() || groups.back() != group) groups.push_back(group);
    }
    EXPECT_THAT(groups, testing::ElementsAre("Start", "Run", "Look", "Repair"));
}

TEST_F(Help, OfVersionIsTheProgramsOwn) {
    EXPECT_EQ(folder_.run("version").output, folder_.run("--version").output);
    const auto json = nlohmann::json::parse(folder_.run("version --json").output);
    EXPECT_EQ(json.at("name"), "onceward");
    EXPECT_EQ("onceward " + json.at("version").get<std::string>() + "\n",
              folder_.run("version").output);
}

// The page has a table for each group, and a row for each command.
TEST_F(Help, IsWhatThePageOfCommandsLists) {
    const std::string page =
        Folder::read(std::filesystem::path(ONCEWARD_SOURCE_FOLDER) / "docs/commands.md");
    std::set<std::string> listed;
    std::string group;
    std::istringstream lines(page);
    const std::regex name("`([a-z][a-z ]*)`");
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("## ")) group.clear();
        if (line.starts_with("### ")) group = line.substr(4);
        if (group.empty() || !line.starts_with("| `")) continue;
        const std::string first = line.substr(0, line.find('|', 1));
        for (std::sregex_iterator found(first.begin(), first.end(), name), end; found != end;
             ++found) {
            listed.insert(group + ": " + (*found)[1].str());
        }
    }
    std::set<std::string> known;
    std::string top;
    for (const auto& command : commands_) {
        if (command.at("name") == "onceward") continue;
        const bool is_top = words(command).find(' ') == std::string::npos;
        if (is_top) top = command.at("group").get<std::string>();
        // `offsets` does something itself, and has commands of its own as well.
        if (is_leaf(command) || words(command) == "offsets") {
            known.insert(top + ": " + words(command));
        }
    }
    EXPECT_EQ(listed, known);
}

}  // namespace
}  // namespace onceward::cli_tests
