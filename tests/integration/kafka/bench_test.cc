// That the bench's rows run to their end; nothing is said about time.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dedup/server/migration.h"
#include "lab/bench/consumption.h"
#include "lab/bench/loaded_ledger.h"
#include "lab/bench/tables.h"
#include "lab/bench/targets.h"
#include "tests/integration/mock/program.h"
#include "tests/support/eventually.h"
#include "tests/support/kafka.h"
#include "tests/support/postgres.h"

namespace onceward {
namespace {

using testing::HasSubstr;

class BenchCommand : public ProgramTest {
  protected:
    BenchCommand() : ProgramTest(ONCEWARD_LAB_EXECUTABLE) {
        // The private PostgreSQL of a bench by root runs under another user, who has to get in.
        using std::filesystem::perms;
        for (const auto& path : {folder(), temporary()}) {
            std::filesystem::permissions(path, perms::others_exec | perms::group_exec,
                                         std::filesystem::perm_options::add);
        }
    }
};

// A worker needs seconds for its first fences, so that only some rows are here: a ratio of workers,
// one without Kafka, loaded ledgers, a lone message.
TEST_F(BenchCommand, RowsRunAndAreWritten) {
    const auto json = folder() / "bench.json";
    const auto page = folder() / "performance.md";
    std::vector<std::string> arguments{"bench",
                                       "--bootstrap-server",
                                       support::kafka_bootstrap_servers(),
                                       "--quick",
                                       "--commit",
                                       "0123abcd",
                                       "--json",
                                       json.string(),
                                       "--write",
                                       page.string()};
    std::vector<std::string> wanted;
    for (const char* row : {"1", "6", "9", "12", "13", "15"}) {
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
    EXPECT_THAT(read(page), HasSubstr(", commit 0123abcd\n"));
    EXPECT_TRUE(std::filesystem::is_empty(temporary()));
}

// It would stay on the user's broker for ever.
TEST_F(BenchCommand, OneWhoseOutputIsClosedDeletesItsTopic) {
    const std::set<std::string> before = support::kafka().topics();
    ChildOptions options;
    options.command = {"/bin/bash", "-c",
                       ONCEWARD_LAB_EXECUTABLE
                           " bench --quick --row 1 --row 13 --bootstrap-server " +
                           support::kafka_bootstrap_servers() + " 2>&1 | head -n 1"};
    options.environment = {"TMPDIR=" + temporary().string()};
    options.output = output_file();
    ChildProcess pipeline(options);
    ASSERT_TRUE(pipeline.wait(std::chrono::minutes{2}).has_value()) << "it is still running";
    EXPECT_EQ(std::ranges::count(read(output_file()), '\n'), 1) << read(output_file());
    EXPECT_TRUE(support::eventually(std::chrono::seconds{20}, [&] {
        return support::kafka().topics() == before;
    })) << "a topic of the bench stays";
}

TEST(BenchTables, WhatIsLoadedStaysWhileOtherRunsComeAndGo) {
    ConnectionOptions superuser;
    superuser.dsn = Secret(support::postgres().dsn);
    bench::Tables loaded(superuser, bench::loaded_schema);
    { const bench::Tables other(superuser); }
    EXPECT_NO_THROW(require_version(loaded.connection()));
    EXPECT_NO_THROW(loaded.begin_anew());
}

TEST(BenchLedger, ItsPurgeTakesAllThatWasLoadedAndLeavesNothingDead) {
    ConnectionOptions superuser;
    superuser.dsn = Secret(support::postgres().dsn);
    bench::Tables tables(superuser, bench::loaded_schema);
    const bench::LoadedLedger ledger(tables, 20'000);
    Connection(tables.options()).execute("DELETE FROM {schema}.sealed_1_1");
    bench::wait_until([&] { return ledger.dead_rows() > 0; }, "for what was deleted");
    ledger.purge();
    EXPECT_EQ(ledger.dead_rows(), 0);
    EXPECT_LT(ledger.disk_bytes_a_claim(), 10);
}

// Stands in for the other program of row 5. Its second half comes when the clock runs: the position
// of the WAL is the last that the bench asks for before.
constexpr const char* rows_in_two_parts = R"sh(#!/bin/sh
set -e
into="INSERT INTO $ONCEWARD_PEER_TABLE SELECT n::text, 0, n, '{}' FROM generate_series"
half=$((ONCEWARD_PEER_MESSAGES / 2))
psql -qXc "$into(1, $half) AS n"
psql -qXc "SET statement_timeout = '1min'" -c "DO \$\$
BEGIN
    WHILE NOT EXISTS (SELECT FROM pg_stat_activity
                      WHERE query LIKE '%pg_current_wal_lsn%' AND pid <> pg_backend_pid()) LOOP
        COMMIT;
        PERFORM pg_sleep(0.01);
    END LOOP;
END
\$\$"
psql -qXc "$into($half + 1, $ONCEWARD_PEER_MESSAGES - ${LOST:-0}) AS n"
)sh";

class BenchWithPeers : public BenchCommand {
  protected:
    // Row 5 with a program of this text.
    nlohmann::json bench(const std::string& program, int exit_code) {
        const auto file = write("kcat-psql", program);
        std::filesystem::permissions(file, std::filesystem::perms::owner_all);
        const auto json = folder() / "bench.json";
        const Outcome outcome =
            run({"bench", "--bootstrap-server", support::kafka_bootstrap_servers(), "--quick",
                 "--row", "5", "--peers", folder().string(), "--json", json.string()});
        EXPECT_EQ(outcome.exit_code, exit_code) << outcome.output;
        EXPECT_TRUE(std::filesystem::is_empty(temporary()));
        return nlohmann::json::parse(read(json));
    }
};

TEST_F(BenchWithPeers, APeerIsMeasuredBesideTheProgram) {
    const nlohmann::json result = bench(rows_in_two_parts, 0);
    ASSERT_EQ(result["rows"].size(), 1U) << result;
    EXPECT_GT(result["rows"][0]["ratio"].get<double>(), 0);
    EXPECT_EQ(result["settings"].size(), 2U);
}

TEST_F(BenchWithPeers, APeerThatLosesARowIsNotMeasured) {
    std::string program = rows_in_two_parts;
    program.insert(program.find("set -e"), "LOST=1\n");
    const nlohmann::json result = bench(program, 1);
    EXPECT_TRUE(result["rows"].empty()) << result;
    EXPECT_THAT(result["failed"][0]["why"], HasSubstr("3999 rows"));
}

TEST_F(BenchWithPeers, WhatAPeerThatFailsSaidIsQuoted) {
    const nlohmann::json result = bench("#!/bin/sh\necho no topic\nexit 3\n", 1);
    EXPECT_THAT(result["failed"][0]["why"], HasSubstr("no topic"));
}

TEST_F(BenchCommand, ARowThatNeedsAPeerIsRefusedWithoutOne) {
    const Outcome outcome = run({"bench", "--bootstrap-server", "127.0.0.1:1", "--row", "4"});
    EXPECT_EQ(outcome.exit_code, 64) << outcome.output;
}

}  // namespace
}  // namespace onceward
