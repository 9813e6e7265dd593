#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/integration/mock/program.h"
#include "tests/support/eventually.h"

namespace onceward {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

class DemoTest : public ProgramTest {
  protected:
    DemoTest() : ProgramTest(ONCEWARD_LAB_EXECUTABLE) {
        // The private PostgreSQL of a demo by root runs under another user, who has to get in.
        using std::filesystem::perms;
        for (const auto& path : {folder(), temporary()})
            std::filesystem::permissions(path, perms::others_exec | perms::group_exec,
                                         std::filesystem::perm_options::add);
    }
    // The last line of the output: progress and result share the file here.
    static nlohmann::json result_of(const Outcome& outcome) {
        const std::size_t begin = outcome.output.rfind("{\"produced\"");
        if (begin == std::string::npos) return {};
        return nlohmann::json::parse(outcome.output.substr(begin));
    }
};

TEST_F(DemoTest, StruckWorkersLoseNothingAndApplyNothingTwice) {
    const Outcome outcome = run({"demo", "--messages", "4000", "--seed", "11", "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    const nlohmann::json result = result_of(outcome);
    EXPECT_EQ(result.size(), 9U) << result;
    EXPECT_EQ(result["produced"], 4'000);
    EXPECT_EQ(result["unique_keys"], 3'000);
    EXPECT_EQ(result["applied"], 3'000);
    EXPECT_EQ(result["duplicates"], 1'000);
    EXPECT_EQ(result["lost"], 0);
    EXPECT_EQ(result["twice"], 0);
    EXPECT_EQ(result["workers_killed"], 1);
    EXPECT_EQ(result["workers_frozen"], 1);
    EXPECT_GT(result["messages_per_second"], 0);
    EXPECT_TRUE(std::filesystem::is_empty(temporary()));
}

TEST_F(DemoTest, WithoutFaultsNobodyIsStruck) {
    const Outcome outcome =
        run({"demo", "--messages", "1000", "--workers", "1", "--no-faults", "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_EQ(result_of(outcome)["applied"], 750);
    EXPECT_EQ(result_of(outcome)["workers_killed"], 0);
    EXPECT_EQ(result_of(outcome)["workers_frozen"], 0);
}

TEST_F(DemoTest, AnInterruptedDemoLeavesNothingBehind) {
    ChildProcess process = start({"demo", "--messages", "1000000"});
    ASSERT_TRUE(support::eventually(milliseconds{60'000}, [&] {
        return read(output_file()).find(" killed with SIGKILL") != std::string::npos;
    })) << read(output_file());
    const std::vector<pid_t> children = children_of(process.pid());
    EXPECT_GE(children.size(), 4U);  // three workers and a database
    process.send(SIGINT);
    EXPECT_EQ(finish(process).exit_code, 130);
    for (const pid_t child : children) EXPECT_TRUE(wait_until_gone(child, milliseconds{10'000}));
    EXPECT_TRUE(std::filesystem::is_empty(temporary()));
}

TEST_F(DemoTest, KeepLeavesDatabaseAndBrokerUpUntilTheEnd) {
    ChildProcess process = start({"demo", "--messages", "400", "--no-faults", "--keep"});
    ASSERT_TRUE(support::eventually(milliseconds{60'000}, [&] {
        return read(output_file()).find(" run -c ") != std::string::npos;
    })) << read(output_file());
    const std::string output = read(output_file());
    EXPECT_THAT(output, HasSubstr("psql \"host=127.0.0.1"));
    EXPECT_THAT(output, HasSubstr("Kafka at 127.0.0.1:"));
    EXPECT_FALSE(std::filesystem::is_empty(temporary()));
    EXPECT_EQ(children_of(process.pid()).size(), 1U);
    process.send(SIGINT);
    EXPECT_EQ(finish(process).exit_code, 0);
    EXPECT_TRUE(std::filesystem::is_empty(temporary()));
}

}  // namespace
}  // namespace onceward
