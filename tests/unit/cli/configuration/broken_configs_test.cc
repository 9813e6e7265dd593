// Every file in tests/configs/ is broken and says itself, in `# expect:` lines, what has to be
// found, and where.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "cli/configuration/load.h"
#include "tests/unit/cli/configuration/silent_server.h"

namespace onceward {
namespace {

std::vector<std::filesystem::path> broken_files() {
    std::vector<std::filesystem::path> files;
    const std::filesystem::path folder =
        std::filesystem::path(ONCEWARD_SOURCE_FOLDER) / "tests" / "configs";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".yaml") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

// `LINE:COLUMN error: beginning of the message` of each `# expect:` line.
std::vector<std::string> expectations(const std::filesystem::path& file) {
    const std::string marker = "# expect: ";
    std::ifstream stream(file);
    std::vector<std::string> list;
    for (std::string line; std::getline(stream, line);) {
        if (line.starts_with(marker)) list.push_back(line.substr(marker.size()));
    }
    return list;
}

std::string summary(const Finding& finding) {
    return std::to_string(finding.mark.line) + ":" + std::to_string(finding.mark.column) +
           (finding.severity == Finding::Severity::error ? " error: " : " warning: ") +
           finding.message;
}

LoadOptions pointing_at(const test::SilentServer& server) {
    LoadOptions options;
    const std::map<std::string, std::string> variables = {
        {"BROKER", "127.0.0.1:" + server.port()},
        {"DSN", "host=127.0.0.1 dbname=orders port=" + server.port()}};
    options.environment = [variables](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
    return options;
}

TEST(BrokenConfigurations, ThereAreAtLeastThirty) { EXPECT_GE(broken_files().size(), 30U); }

TEST(BrokenConfigurations, EachIsFoundAtItsPlaceAndNothingElseIs) {
    const test::SilentServer server;
    for (const std::filesystem::path& file : broken_files()) {
        SCOPED_TRACE(file.filename());
        LoadResult result = load_configuration(file.string(), pointing_at(server));
        if (result.usable()) check_setup(result);
        EXPECT_FALSE(result.usable());
        const std::vector<std::string> expected = expectations(file);
        ASSERT_EQ(result.findings.size(), expected.size());
        for (std::size_t index = 0; index < expected.size(); ++index) {
            EXPECT_TRUE(summary(result.findings[index]).starts_with(expected[index]))
                << "found:    " << summary(result.findings[index])
                << "\nexpected: " << expected[index];
        }
    }
}

TEST(BrokenConfigurations, NoneReachesAConnection) {
    test::SilentServer server;
    for (const std::filesystem::path& file : broken_files()) {
        LoadResult result = load_configuration(file.string(), pointing_at(server));
        if (result.usable()) check_setup(result);
        EXPECT_FALSE(server.was_visited()) << file.filename();
    }
    test::visit(server);
    EXPECT_TRUE(server.was_visited()) << "the server is blind, so the test shows nothing";
}

}  // namespace
}  // namespace onceward
