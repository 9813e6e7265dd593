// `init`, `check` and `config`, through the program itself.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/unit/cli/commands/program_run.h"

namespace onceward {
namespace {

using Answer = cli_tests::Ran;

Answer run(const std::string& arguments) { return cli_tests::Folder().run(arguments); }

std::string starter_file() {
    const auto path = std::filesystem::path(testing::TempDir()) / "check_command_test.yaml";
    std::ofstream(path) << run("init table").output;
    return path.string();
}

TEST(CheckCommand, TheStarterPassesAsItIs) {
    const Answer answer = run("check -c " + starter_file());
    EXPECT_EQ(answer.exit_code, 0);
    EXPECT_NE(answer.output.find("good, 1 warning"), std::string::npos) << answer.output;
}

TEST(CheckCommand, APasswordInTheFileIsAWarning) {
    const cli_tests::Folder folder;
    folder.write("onceward.yaml",
                 "group: orders\npostgres: {dsn: 'host=localhost password=c4n4ry'}\n"
                 "kafka: {bootstrap_servers: 'a:9092'}\ntopics:\n"
                 "  - {name: a, key: {preset: idempotency-key}, sink: {table: a, columns: {id: "
                 "/id}}}\n");
    const Answer answer = folder.run("check");
    EXPECT_EQ(answer.exit_code, 0);
    EXPECT_NE(answer.output.find("good, 1 warning"), std::string::npos) << answer.output;
    EXPECT_NE(answer.errors.find("onceward.yaml:2:17: warning: postgres.dsn: The password is in "
                                 "the file. Write `${file:dsn.secret}` or use PGPASSWORD."),
              std::string::npos)
        << answer.errors;
    EXPECT_EQ(answer.errors.find("c4n4ry"), std::string::npos);
}

// An editor resolves the path in its first line relative to the file itself.
TEST(CheckCommand, TheStarterNamesASchemaThatItsNextLineWrites) {
    std::istringstream lines(run("init").output);
    std::string schema;
    std::string how;
    std::getline(lines, schema);
    std::getline(lines, how);
    EXPECT_EQ(schema, "# yaml-language-server: $schema=./onceward.schema.json");
    EXPECT_NE(how.find("`onceward config schema > onceward.schema.json`"), std::string::npos)
        << how;
    EXPECT_TRUE(nlohmann::json::accept(run("config schema").output));
}

TEST(CheckCommand, AnUnsetVariableIsAnErrorWithAStrictEnvironment) {
    EXPECT_EQ(run("check --strict-env -c " + starter_file()).exit_code, 78);
}

TEST(CheckCommand, FindingsCanBeReadByPrograms) {
    const Answer answer = run("check --json --strict-env -c " + starter_file());
    const auto findings = nlohmann::json::parse(answer.output).at("findings");
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].at("severity"), "error");
    EXPECT_GT(findings[0].at("line"), 1);
    EXPECT_NE(findings[0].at("message").get<std::string>().find("ONCEWARD_DSN"), std::string::npos);
}

std::string file_with(const std::string& text) {
    const auto path = std::filesystem::path(testing::TempDir()) / "check_command_mistake.yaml";
    std::ofstream(path) << text;
    return path.string();
}

nlohmann::json findings_of(const std::string& text) {
    return nlohmann::json::parse(run("check --json -c " + file_with(text)).output).at("findings");
}

TEST(CheckCommand, AListAtTheTopIsOneFinding) {
    EXPECT_EQ(findings_of("- group: orders\n").size(), 1U);
}

TEST(CheckCommand, AnUnknownMechanismIsRefusedWhereItStands) {
    const auto findings = findings_of(
        "group: orders\npostgres: {dsn: host=localhost}\nkafka:\n  bootstrap_servers: a:9092\n"
        "  properties:\n    security.protocol: SASL_SSL\n    sasl.mechanism: PLAN\ntopics:\n"
        "  - {name: a, key: {preset: idempotency-key}, sink: {table: a, columns: {id: /id}}}\n");
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].at("line"), 7);
    EXPECT_NE(findings[0].at("message").get<std::string>().find("did you mean `PLAIN`?"),
              std::string::npos);
}

TEST(CheckCommand, AnOptionThatStandsTooDeepIsSentToTheNearestPlace) {
    const auto findings = findings_of(
        "group: shop\npostgres: {dsn: host=localhost}\nhttp:\n  routes:\n    - method: POST\n"
        "      path: /orders\n      sink: {table: orders, columns: {id: /id}, format: raw}\n");
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_NE(findings[0].at("message").get<std::string>().find("`http.routes[].format`"),
              std::string::npos)
        << findings[0];
}

TEST(CheckCommand, BrokersAreNeededOnlyWhereSomethingAsksThem) {
    const std::string start = "group: shop\npostgres: {dsn: host=localhost}\n";
    const std::string route = "http:\n  routes:\n    - method: POST\n      path: /orders\n";
    EXPECT_EQ(findings_of(start + route + "      sink: {table: orders, columns: {id: /id}}\n"),
              nlohmann::json::array());
    EXPECT_EQ(findings_of(start + route + "      topic: orders\n").size(), 1U);
}

TEST(Program, AMistypedCommandIsNamedWithTheNearestOne) {
    const auto said = [](const std::string& arguments) {
        return run(arguments).errors;
    };
    EXPECT_NE(said("ofsets").find("`ofsets`; did you mean `offsets`?"), std::string::npos);
    EXPECT_NE(said("dlq lst").find("`lst` of `dlq`; did you mean `list`?"), std::string::npos);
    EXPECT_EQ(run("dlq lst").exit_code, 64);
}

TEST(CheckCommand, AMissingFileExits78) {
    EXPECT_EQ(run("check -c no-such-file.yaml").exit_code, 78);
}

TEST(CheckCommand, EveryBrokenConfigurationExits78) {
    const auto folder = std::filesystem::path(ONCEWARD_SOURCE_FOLDER) / "tests" / "configs";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string path = entry.path().string();
        EXPECT_EQ(run("check --strict-env -c '" + path + "'").exit_code, 78) << path;
    }
}

TEST(CommandLine, AMisspeltCommandExits64) { EXPECT_EQ(run("chek").exit_code, 64); }

TEST(CommandLine, HelpAndVersionExit0) {
    EXPECT_EQ(run("--help").exit_code, 0);
    const Answer version = run("--version");
    EXPECT_EQ(version.exit_code, 0);
    EXPECT_EQ(version.output.find("onceward "), 0U);
}

}  // namespace
}  // namespace onceward
