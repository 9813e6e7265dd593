// That the bench's rows run to their end; nothing is said about time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/bench/tables.h"
#include "cli/bench/targets.h"
#include "dedup/migration.h"
#include "tests/integration/mock/program.h"
#include "tests/support/kafka.h"
#include "tests/support/postgres.h"

namespace onceward {
namespace {

using testing::HasSubstr;

class BenchCommand : public ProgramTest {
  protected:
    BenchCommand() {
        // The private PostgreSQL of a bench by root runs under another user, who has to get in.
        using std::filesystem::perms;
        for (const auto& path : {folder(), temporary()}) {
            std::filesystem::permissions(path, perms::others_exec | perms::group_exec,
                                         std::filesystem::perm_options::add);
        }
    }
};

// A worker needs seconds for its first fences, so that only some rows are here: a ratio of workers,
// one without Kafka, a loaded ledger, a lone message.
TEST_F(BenchCommand, RowsRunAndAreWritten) {
    const auto json = folder() / "bench.json";
    const auto page = folder() / "performance.md";
    std::vector<std::string> arguments{"bench",
                                       "--bootstrap-server",
                                       support::kafka_bootstrap_servers(),
                                       "--quick",
                                       "--json",
                                       json.string(),
                                       "--write",
                                       page.string()};
    std::vector<std::string> wanted;
    for (const char* row : {"1", "6", "12", "13", "15"}) {
        arguments.insert(arguments.end(), {"--row", row});
        for (const bench::Target* target : bench::targets_of(row)) {
            wanted.emplace_back(target->name);
        }
    }
    const Outcome outcome = run(std::move(arguments));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    std::vector<std::string> found;
    const nlohmann::json result = nlohmann::json::parse(read(json));
    for (const auto& row : result["rows"]) {
        found.push_back(row["name"]);
        EXPECT_GE(row["max"].get<double>(), row["min"].get<double>()) << row;
        EXPECT_TRUE(row["reached"].is_boolean()) << row;
    }
    EXPECT_EQ(found, wanted) << outcome.output;
    EXPECT_THAT(read(page), HasSubstr("not run: it needs a peer"));
    EXPECT_TRUE(std::filesystem::is_empty(temporary()));
}

TEST(BenchTables, WhatIsLoadedStaysWhileOtherRunsComeAndGo) {
    ConnectionOptions superuser;
    superuser.dsn = Secret(support::postgres().dsn);
    bench::Tables loaded(superuser, bench::loaded_schema);
    { const bench::Tables other(superuser); }
    EXPECT_NO_THROW(require_version(loaded.connection()));
    EXPECT_NO_THROW(loaded.begin_anew());
}

TEST_F(BenchCommand, ARowThatIsNotMeasuredIsRefused) {
    const Outcome outcome = run({"bench", "--bootstrap-server", "127.0.0.1:1", "--row", "4"});
    EXPECT_EQ(outcome.exit_code, 64) << outcome.output;
}

}  // namespace
}  // namespace onceward
