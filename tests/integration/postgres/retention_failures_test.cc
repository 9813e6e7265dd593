// What a pass leaves for the next one, and a ledger that cannot be processed, next to one that can:
// the job of the workers' processes.

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "dedup/ledger/ledger.h"
#include "dedup/retention/retention.h"
#include "schemas/queries.h"
#include "tests/support/database.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

class RetentionFailures : public testing::Test {
  protected:
    // A ledger with a table that a crash left unlisted.
    LedgerOptions ledger_with_table(const std::string& name) {
        LedgerOptions options;
        options.name = name;
        Connection worker(schema_.worker());
        const int ledger = register_ledger(worker, options, "group", name).ledger;
        tables_.push_back("claims_" + std::to_string(ledger) + "_999");
        schema_.database().execute("CREATE TABLE " + tables_.back() + " ()");
        return options;
    }
    bool is_there(const std::string& table) {
        return schema_.database().number("SELECT count(to_regclass('" + table + "'))") == 1;
    }

    support::FreshSchema schema_;
    std::vector<std::string> tables_;
};

// 2BP01: no DROP of a table that somebody's view reads.
TEST_F(RetentionFailures, OneLedgerThatFailsLeavesTheOthersTheirTurn) {
    const LedgerOptions watched = ledger_with_table("a");
    const LedgerOptions other = ledger_with_table("b");
    schema_.database().execute("CREATE VIEW report AS SELECT count(*) FROM " + tables_.front());
    RetentionJob job({schema_.worker(), {watched, other}, 20ms});
    std::jthread thread([&](std::stop_token stop) { job.run(stop); });
    EXPECT_TRUE(support::eventually(10s, [&] { return !is_there(tables_.back()); }));
    EXPECT_TRUE(support::eventually(10s, [&] { return job.counts().failures >= 2; }));
    const RetentionCounts failing = job.counts();
    EXPECT_GE(failing.failed_ledgers.at("a"), 2);
    EXPECT_FALSE(failing.failed_ledgers.contains("b"));
    EXPECT_EQ(failing.last_success, std::nullopt);
    EXPECT_TRUE(is_there(tables_.front()));
    schema_.database().execute("DROP VIEW report");
    EXPECT_TRUE(support::eventually(10s, [&] { return job.counts().last_success.has_value(); }));
    EXPECT_FALSE(is_there(tables_.front()));
}

// As after a reload with a topic more and a topic less.
TEST_F(RetentionFailures, OtherLedgersHaveTheirTurnFromTheNextPassOn) {
    const LedgerOptions first = ledger_with_table("a");
    RetentionJob job({schema_.worker(), {first}, 20ms});
    std::jthread thread([&](std::stop_token stop) { job.run(stop); });
    EXPECT_TRUE(support::eventually(10s, [&] { return !is_there(tables_.front()); }));
    job.use({ledger_with_table("b")});
    EXPECT_TRUE(support::eventually(10s, [&] { return !is_there(tables_.back()); }));
}

// The process's other ledgers wait meanwhile.
TEST_F(RetentionFailures, ALookDropsSixteenTablesAtMostAndTheNextOneTheRest) {
    const LedgerOptions ledger = ledger_with_table("a");
    for (int i = 1; i < 20; ++i) {
        schema_.database().execute("CREATE TABLE " + tables_.front() + std::to_string(i) + " ()");
    }
    RetentionJob job({schema_.worker(), {ledger}, 20ms});
    Connection worker(schema_.worker());
    EXPECT_EQ(job.look(worker, ledger).dropped, 16);
    EXPECT_EQ(job.look(worker, ledger).dropped, 4);
    EXPECT_EQ(job.look(worker, ledger).dropped, 0);
}

// DANGER: a claim of the inbox that waited for the ledger's lock may still read what was unlisted
// under it, and would end with 42P01.
TEST_F(RetentionFailures, WhatALookUnlistsIsDroppedByTheNextOne) {
    LedgerOptions ledger;
    ledger.name = "a";
    Connection worker(schema_.worker());
    const std::string number =
        std::to_string(register_ledger(worker, ledger, "group", "topic").ledger);
    schema_.database().execute("SELECT rotate_ledger(" + number + ", 1)");
    // The ledger's watermark is the clock.
    schema_.database().execute(
        "UPDATE generations SET created_at = now() - interval '3 days', sealed_at = now() - "
        "interval '2 days' WHERE sealed_at IS NOT NULL; "
        "UPDATE ledger_feeds SET longest_request = interval '1 second'");
    RetentionJob job({schema_.worker(), {ledger}, 20ms});
    const RetentionReport first = job.look(worker, ledger);
    EXPECT_EQ(first.unlisted, 1);
    EXPECT_EQ(first.dropped, 0);
    EXPECT_TRUE(is_there("claims_" + number + "_1"));
    const RetentionReport second = job.look(worker, ledger);
    EXPECT_EQ(second.unlisted, 0);
    EXPECT_EQ(second.dropped, 1);
    EXPECT_FALSE(is_there("claims_" + number + "_1"));
}

// One try waits for 50 ms, so that claims do not queue: many tries have to follow.
TEST_F(RetentionFailures, WhatIsInUseIsTriedAgainSoonerThanTheNextPass) {
    const LedgerOptions ledger = ledger_with_table("a");
    support::Database reader(schema_.server().dsn);
    reader.execute("BEGIN; LOCK TABLE " + schema_.name() + "." + tables_.front() +
                   " IN ACCESS SHARE MODE");
    RetentionJob job({schema_.worker(), {ledger}, 60s});
    std::jthread thread([&](std::stop_token stop) { job.run(stop); });
    EXPECT_TRUE(support::eventually(10s, [&] { return job.counts().busy >= 3; }));
    reader.execute("COMMIT");
    EXPECT_TRUE(support::eventually(10s, [&] { return !is_there(tables_.front()); }));
}

// Whatever its role: the worker's may not see what another one's session runs, but who it is.
TEST_F(RetentionFailures, TheHolderOfALedgersLockIsKnownToTheWorker) {
    const LedgerOptions ledger = ledger_with_table("a");
    support::Database holder(schema_.server().dsn);
    holder.execute("BEGIN; SELECT pg_advisory_xact_lock_shared(1330524999, 1)");
    Connection worker(schema_.worker());
    const auto held = [&] { return worker.query(sql::retention_lock_holders, {ledger.name}); };
    EXPECT_TRUE(support::eventually(10s, [&] { return held().rows() == 1; }));
    EXPECT_EQ(held().text(0, 0), "pid " + std::to_string(holder.pid()));
    EXPECT_GE(held().integer(0, 3), 1);
    holder.execute("COMMIT");
    EXPECT_EQ(held().rows(), 0);
}

// The owner of the schema need not be a superuser: then PostgreSQL hides since when another role's
// session holds it.
TEST_F(RetentionFailures, AHolderWhoseTimeIsHiddenIsNamedAllTheSame) {
    const LedgerOptions ledger = ledger_with_table("a");
    schema_.database().execute("ALTER FUNCTION holders(text) OWNER TO " +
                               std::string(support::worker_role));
    support::Database holder(schema_.server().dsn);
    holder.execute("BEGIN; SELECT pg_advisory_xact_lock_shared(1330524999, 1)");
    Connection worker(schema_.worker());
    const QueryResult held = worker.query(sql::retention_lock_holders, {ledger.name});
    ASSERT_EQ(held.rows(), 1);
    EXPECT_EQ(held.text(0, 0), "pid " + std::to_string(holder.pid()));
    EXPECT_EQ(held.text(0, 2), "hidden");
    EXPECT_EQ(held.integer(0, 3), 0);
}

}  // namespace
}  // namespace onceward
