#include "tests/tidy/prose_rules.h"

#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>

namespace onceward::tidy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

struct Answer {
    std::string output;
    int status = 0;
};

Answer run(const std::string& arguments) {
    const std::string command = std::string(ONCEWARD_EXECUTABLE) + " " + arguments + " 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("popen");
    Answer answer;
    std::array<char, 4096> buffer{};
    while (const std::size_t size = fread(buffer.data(), 1, buffer.size(), pipe)) {
        answer.output.append(buffer.data(), size);
    }
    answer.status = pclose(pipe);
    return answer;
}

TEST(Prose, TheFolderTableIsTheTree) {
    EXPECT_THAT(folder_table_differences(repository()), IsEmpty());
}
TEST(Prose, AFolderTableOfAnotherTreeIsFound) {
    const std::string page =
        "## Folders\n\n| folder | what |\n|---|---|\n| `a/` | x |\n| `b/` | y |\n| `docs/` | z |\n";
    EXPECT_THAT(folder_table_differences(
                    {{"docs/architecture.md", page}, {"docs/x", ""}, {"a/x", ""}, {"c/x", ""}}),
                ElementsAre("the table lacks c/", "the table alone has b/"));
}

TEST(Prose, TheDependencyTableIsWhatIsInstalledAndFound) {
    EXPECT_THAT(dependency_table_differences(repository()), IsEmpty());
}
TEST(Prose, ADependencyTableOfAnotherBuildIsFound) {
    const std::string page =
        "## Dependencies\n\n| n | p | w | l | Debian | CMake |\n|---|---|---|---|---|---|\n"
        "| a | b | c | d | `g++` `gone-dev` | `Gone` |\n";
    EXPECT_THAT(
        dependency_table_differences(
            {{"docs/dependencies.md", page},
             {"scripts/setup", "build_packages=(\n    g++ new-dev\n    # a comment\n)\n"},
             {"CMakeLists.txt", "find_package(Threads)\nfind_package(New REQUIRED)\n"}}),
        ElementsAre("the table lacks package new-dev", "the table alone has package gone-dev",
                    "the table lacks CMake's New", "the table alone has CMake's Gone"));
}

TEST(Prose, EveryLinkLeadsToAFile) { EXPECT_THAT(dead_links(repository()), IsEmpty()); }
TEST(Prose, ADeadLinkIsFound) {
    EXPECT_THAT(dead_links({{"docs/a.md", "[b](b.md#x) [c](../c.md) [d](https://example.org/d)"},
                            {"e.md", "see `dedup/e.h` and `dedup/f.h`"},
                            {"dedup/f.h", ""},
                            {"c.md", ""}}),
                UnorderedElementsAre("docs/a.md links to b.md", "e.md names `dedup/e.h`"));
}

TEST(Prose, TheConfigurationsOfReadmeAndDebeziumPassCheck) {
    for (const char* page : {"README.md", "docs/debezium.md"}) {
        const std::string example = configuration_example(repository(), page);
        ASSERT_FALSE(example.empty()) << page;
        const std::string path = std::string(ONCEWARD_BUILD_FOLDER) + "/page_example.yaml";
        std::ofstream(path) << example;
        const Answer right = run("check -c " + path);
        EXPECT_EQ(right.status, 0) << page << right.output;
        std::ofstream(path) << example << "\nno_such_option: 1\n";
        EXPECT_NE(run("check -c " + path).status, 0) << page;
    }
}

}  // namespace
}  // namespace onceward::tidy
