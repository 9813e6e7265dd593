// `onceward test`, through the program itself.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/unique.h"
#include "tests/unit/cli/commands/program_run.h"

namespace onceward {
namespace {

using testing::HasSubstr;

struct TestAnswer {
    int exit_code = -1;
    std::string output;  // standard output and error
};

TestAnswer run_test(const std::string& arguments) {
    const cli_tests::Ran ran = cli_tests::Folder().run("test " + arguments);
    return {ran.exit_code, ran.output + ran.errors};
}

std::string read(const std::filesystem::path& path) { return cli_tests::Folder::read(path); }

const std::filesystem::path examples =
    std::filesystem::path(ONCEWARD_SOURCE_FOLDER) / "examples/configuration";

class TestCommand : public testing::Test {
  protected:
    TestCommand() {
        std::filesystem::copy(examples, folder_, std::filesystem::copy_options::recursive);
    }
    ~TestCommand() override { std::filesystem::remove_all(folder_); }
    // The example with one text replaced.
    void replace(const std::string& what, const std::string& with) {
        std::string text = read(file_);
        const std::size_t at = text.find(what);
        ASSERT_NE(at, std::string::npos);
        std::ofstream(file_) << text.replace(at, what.size(), with);
    }
    std::filesystem::path folder_ =
        std::filesystem::path(testing::TempDir()) / support::unique_name("test_command");
    std::filesystem::path file_ = folder_ / "payments.test.yaml";
};

TEST_F(TestCommand, TheExamplePasses) {
    const TestAnswer answer = run_test(file_.string());
    EXPECT_EQ(answer.exit_code, 0) << answer.output;
    EXPECT_THAT(answer.output, HasSubstr("6 tests: 6 passed, 0 failed"));
}

TEST_F(TestCommand, AFailureIsShownWithItsLineAndEndsInExitOne) {
    replace("amount: 12.5\n", "amount: 13\n");
    const TestAnswer answer = run_test(file_.string() + " --junit " +
                                       (folder_ / "junit.xml").string());
    EXPECT_EQ(answer.exit_code, 1);
    EXPECT_THAT(answer.output, HasSubstr("payments.test.yaml:33: record 1, row.amount\n"
                                         "        expected  13\n        got       12.50\n"));
    EXPECT_THAT(read(folder_ / "junit.xml"), HasSubstr("failures=\"1\""));
}

TEST_F(TestCommand, UpdateWritesWhatWasGotAndThenItPasses) {
    replace("amount: 12.5\n", "amount: 13   # euros\n");
    replace("        expect: {key: p2}\n", "");
    EXPECT_EQ(run_test("--update " + file_.string()).exit_code, 1);
    EXPECT_THAT(read(file_), HasSubstr("amount: 12.50   # euros\n"));
    EXPECT_THAT(read(file_), HasSubstr("            id: p2\n            merchant: acme\n"));
    const TestAnswer answer = run_test(file_.string());
    EXPECT_EQ(answer.exit_code, 0) << answer.output;
}

TEST_F(TestCommand, JsonHasWhatBecameOfEachRecord) {
    const TestAnswer answer = run_test("--json --only tombstone " + file_.string());
    ASSERT_EQ(answer.exit_code, 0) << answer.output;
    const auto json = nlohmann::json::parse(answer.output);
    ASSERT_EQ(json[0]["tests"].size(), 1u);
    EXPECT_EQ(json[0]["tests"][0]["records"][0]["row"]["tags"], R"({new,"a,b"})");
    EXPECT_EQ(json[0]["tests"][0]["records"][1]["outcome"], "applied");
}

TEST_F(TestCommand, WhatIsWrongOtherwiseHasItsOwnExitCode) {
    EXPECT_EQ(run_test("").exit_code, 64);
    EXPECT_EQ(run_test("no-such-file.yaml").exit_code, 64);
    const TestAnswer folder = run_test(folder_.string());
    EXPECT_EQ(folder.exit_code, 64);
    EXPECT_THAT(folder.output, HasSubstr("is a folder: name its test files"));
    EXPECT_EQ(run_test("--only nothing " + file_.string()).exit_code, 3);
    EXPECT_EQ(run_test("-c no-such.yaml " + file_.string()).exit_code, 78);
    replace("tests:\n", "test:\n");
    const TestAnswer broken = run_test(file_.string());
    EXPECT_EQ(broken.exit_code, 78);
    EXPECT_THAT(broken.output, HasSubstr("0 failed; files that cannot be run: 1"));
}

// With its default the topic would be tested as what it is not.
TEST_F(TestCommand, AVariableThatATopicNeedsHasToBeSet) {
    std::string configuration = read(folder_ / "onceward.yaml");
    // The tenant's: the column's path has no brace after it.
    const std::size_t at = configuration.find("/merchant}");
    std::ofstream(folder_ / "onceward.yaml")
        << configuration.replace(at, 10, "\"${TENANT_FIELD}\"}");
    const TestAnswer answer = run_test(file_.string());
    EXPECT_EQ(answer.exit_code, 78);
    EXPECT_THAT(answer.output, HasSubstr("TENANT_FIELD"));
    replace("config: onceward.yaml\n",
            "config: onceward.yaml\nenvironment: {TENANT_FIELD: /merchant}\n");
    EXPECT_EQ(run_test(file_.string()).exit_code, 0);
}

TEST_F(TestCommand, TheSchemaIsPrinted) {
    EXPECT_TRUE(nlohmann::json::accept(run_test("--schema").output));
}

}  // namespace
}  // namespace onceward
