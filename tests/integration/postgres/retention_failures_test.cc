// What a pass leaves for the next one, and a ledger that cannot be processed, next to one that can:
// the job of the workers' processes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dedup/ledger/ledger.h"
#include "dedup/postgres/stop_cancel.h"
#include "dedup/retention/retention.h"
#include "schemas/queries.h"
#include "tests/support/database.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr const char* take_first_ledger =
    "BEGIN; SELECT pg_advisory_xact_lock_shared(1330524999, 1)";

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
    // The first ledger, with a claim more than a generation may have.
    LedgerOptions full_ledger() {
        LedgerOptions options = ledger_with_table("a");
        options.rotate_claims = 1;
        schema_.database().execute(
            "INSERT INTO claims_1_1 (digest, record_offset, partition, source) VALUES "
            "(gen_random_uuid(), 1, 0, 1)");
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

// Such as the copy of a large segment.
TEST_F(RetentionFailures, AStopCancelsTheStatementThatRuns) {
    const LedgerOptions ledger = full_ledger();
    schema_.database().execute(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN PERFORM pg_sleep(600); RETURN NEW; END'; "
        "CREATE TRIGGER slow BEFORE INSERT ON generations FOR EACH ROW EXECUTE FUNCTION slow()");
    ConnectionOptions options = schema_.worker();
    options.application_name = "stopped";
    const std::string sleeping =
        " FROM pg_stat_activity WHERE application_name = 'stopped retention' AND "
        "wait_event = 'PgSleep'";
    RetentionJob job({options, {ledger}, 20ms});
    std::stop_source stop;
    auto ended = std::async(std::launch::async, [&] { job.run(stop.get_token()); });
    EXPECT_TRUE(support::eventually(
        10s, [&] { return schema_.database().number("SELECT count(*)" + sleeping) == 1; }));
    stop.request_stop();
    EXPECT_EQ(ended.wait_for(20s), std::future_status::ready);
    schema_.database().execute("SELECT pg_terminate_backend(pid)" + sleeping);
    ended.wait();
    EXPECT_TRUE(job.counts().failed_ledgers.empty());
}

// A session may be lost without a word, such as by the release of a lock in a destructor.
TEST_F(RetentionFailures, AStopHasNothingToCancelInALostSession) {
    Connection worker(schema_.worker());
    schema_.database().execute("SELECT pg_terminate_backend(" + std::to_string(worker.pid()) + ")");
    EXPECT_THROW(worker.execute("SELECT 1"), PostgresError);
    std::stop_source stop;
    StopCancel cancel(stop.get_token());
    EXPECT_NO_THROW(cancel.use(worker));
    stop.request_stop();
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
    holder.execute(take_first_ledger);
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
    holder.execute(take_first_ledger);
    Connection worker(schema_.worker());
    const QueryResult held = worker.query(sql::retention_lock_holders, {ledger.name});
    ASSERT_EQ(held.rows(), 1);
    EXPECT_EQ(held.text(0, 0), "pid " + std::to_string(holder.pid()));
    EXPECT_EQ(held.text(0, 2), "hidden");
    EXPECT_EQ(held.integer(0, 3), 0);
}

TEST_F(RetentionFailures, ABusyLedgerIsWaitedForTwiceAsLongInTheNextPass) {
    const LedgerOptions ledger = full_ledger();
    RetentionJob job({.connection = schema_.worker(),
                      .ledgers = {},
                      .lock_timeout = 10ms,
                      .longest_lock_wait = 40ms});
    Connection worker(schema_.worker());
    support::Database holder(schema_.server().dsn);
    holder.execute(take_first_ledger);
    std::vector<std::chrono::milliseconds> waits;
    testing::internal::CaptureStderr();
    for (int pass = 0; pass < 5; ++pass) {
        const RetentionReport report = job.look(worker, ledger);
        EXPECT_TRUE(report.busy);
        EXPECT_FALSE(report.rotated);
        waits.push_back(report.lock_wait);
    }
    const std::string said = testing::internal::GetCapturedStderr();
    const std::size_t first = said.find("ledger.lock_busy");
    EXPECT_NE(first, std::string::npos) << said;
    EXPECT_EQ(first, said.rfind("ledger.lock_busy")) << "once, at the longest wait";
    EXPECT_THAT(waits, testing::ElementsAre(10ms, 20ms, 40ms, 40ms, 40ms));
    holder.execute("COMMIT");
    EXPECT_TRUE(job.look(worker, ledger).rotated);
    EXPECT_EQ(job.look(worker, ledger).lock_wait, 10ms) << "it was not busy the last time";
}

// Two workers, each of which claims before the other one has committed: somebody always holds the
// lock. A claim that queues is waited for during 300 ms, so no shorter wait of the job gets it.
TEST_F(RetentionFailures, ALedgerWhoseLockIsNeverFreeIsSealedByALongerWait) {
    const LedgerOptions ledger = full_ledger();
    std::promise<void> held;
    std::jthread claims([&](const std::stop_token& stop) {
        support::Database one(schema_.server().dsn);
        support::Database other(schema_.server().dsn);
        support::Database looker(schema_.server().dsn);
        support::Database* holder = &one;
        support::Database* next = &other;
        holder->execute(take_first_ledger);
        held.set_value();
        while (!stop.stop_requested()) {
            auto taking = std::async(std::launch::async, [&] { next->execute(take_first_ledger); });
            const auto taken = [&] { return taking.wait_for(0s) == std::future_status::ready; };
            const std::string queues = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = ";
            support::eventually(10s, [&] {
                return taken() || looker.number(queues + std::to_string(next->pid())) == 1;
            });
            taking.wait_for(300ms);
            holder->execute("COMMIT");
            taking.get();
            std::swap(holder, next);
        }
        holder->execute("COMMIT");
    });
    held.get_future().wait();
    RetentionJob job({.connection = schema_.worker(), .ledgers = {ledger}, .every = 20ms});
    std::jthread thread([&](std::stop_token stop) { job.run(stop); });
    EXPECT_TRUE(support::eventually(30s, [&] { return job.counts().rotated > 0; }));
    EXPECT_GE(job.counts().busy, 3) << "waits of 50, 100 and 200 ms were long enough";
}

// Claims would queue for nothing. The holder is replaced by one that says so.
TEST_F(RetentionFailures, ALedgerThatSomebodyKeepsIsNotWaitedForLonger) {
    const LedgerOptions ledger = full_ledger();
    schema_.database().execute(
        "CREATE OR REPLACE FUNCTION holders(ledger text) RETURNS TABLE (pid integer, prepared "
        "text, role name, application text, state text, since timestamptz) LANGUAGE sql VOLATILE "
        "AS $$ SELECT 1, NULL::text, 'somebody'::name, ''::text, 'idle in transaction'::text, "
        "clock_timestamp() - interval '1 minute' $$");
    support::Database holder(schema_.server().dsn);
    holder.execute(take_first_ledger);
    RetentionJob job({.connection = schema_.worker(), .ledgers = {}, .lock_timeout = 10ms});
    Connection worker(schema_.worker());
    for (int pass = 0; pass < 3; ++pass) {
        const RetentionReport report = job.look(worker, ledger);
        EXPECT_TRUE(report.busy);
        EXPECT_EQ(report.lock_wait, 10ms);
    }
}

}  // namespace
}  // namespace onceward
