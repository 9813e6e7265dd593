// Which messages of a batch the sink refuses, how they are found, and what happens to the others.

#include <algorithm>

#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

using ::testing::IsEmpty;

class RefusedRowsTest : public LedgerTest {
  protected:
    // Runs for each row before it is inserted.
    void on_insert(const std::string& statements) {
        database().execute("CREATE FUNCTION judge() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " +
                           statements +
                           " RETURN new; END $$; CREATE TRIGGER judges BEFORE INSERT ON " + table_ +
                           " FOR EACH ROW EXECUTE FUNCTION judge()");
    }
    // How many transactions it takes until the end of the log.
    int transactions(const ScriptedLog& log, CoreWorkerOptions with) {
        int begun = 0;
        StepHook count([&](Step step) { begun += step == Step::before_begin ? 1 : 0; });
        with.observer = &count;
        CoreWorker worker(log, sink_, with);
        EXPECT_TRUE(worker.run());
        totals_ = worker.totals;
        return begun;
    }
    std::string dead_letters() {
        return database().value(
            "SELECT coalesce(string_agg(record_offset || ' ' || sqlstate, ',' ORDER BY "
            "record_offset), '') FROM dead_letters");
    }
    Totals totals_;
};

TEST_P(RefusedRowsTest, AUsersOwnSqlstateIsOneDeadLetterAndTheOthersLand) {
    on_insert("IF new.key = 'k50' THEN RAISE EXCEPTION USING ERRCODE = 'SH001'; END IF;");
    ScriptedLog log(1);
    append_keys(log, 0, "k", 100);
    transactions(log, options());
    EXPECT_EQ(totals_, (Totals{.applied = 99, .dead_lettered = 1}));
    EXPECT_EQ(dead_letters(), "50 SH001");
    EXPECT_EQ(fence(0), 100);
    expect_no_violations(log, {.some_rejected = true});
}

// No code of the user's own: the statement that the trigger makes names a table that is not there.
TEST_P(RefusedRowsTest, WhereTheNeighboursLandAFaultOfTheTableIsThatOfOneMessage) {
    on_insert("IF new.key = 'k7' THEN EXECUTE 'SELECT 1 FROM none_' || new.key; END IF;");
    ScriptedLog log(1);
    append_keys(log, 0, "k", 100);
    transactions(log, options());
    EXPECT_EQ(totals_, (Totals{.applied = 99, .dead_lettered = 1}));
    EXPECT_EQ(dead_letters(), "7 42P01");
}

TEST_P(RefusedRowsTest, AFaultThatManyMessagesMeetStopsTheTopicAndIsInNoDeadLetter) {
    on_insert("IF new.record_offset % 3 = 0 THEN EXECUTE 'SELECT 1 FROM none'; END IF;");
    ScriptedLog log(1);
    append_keys(log, 0, "k", 100);
    CoreWorker worker(log, sink_, options());
    EXPECT_THROW(worker.run(), PostgresError);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 0);
    EXPECT_EQ(effects(), 0);
}

TEST_P(RefusedRowsTest, AFaultThatAllMessagesMeetIsSeenAfterAFewTries) {
    database().execute("CREATE SEQUENCE tries; GRANT USAGE ON SEQUENCE tries TO PUBLIC");
    on_insert("PERFORM nextval('" + schema_.name() + ".tries'); EXECUTE 'SELECT 1 FROM none';");
    ScriptedLog log(1);
    append_keys(log, 0, "k", 1000);
    CoreWorker worker(log, sink_, options());
    EXPECT_THROW(worker.run(), PostgresError);
    EXPECT_LT(database().number("SELECT last_value FROM tries"), 40);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 0);
}

// One transaction each for every half would be a hundred here.
TEST_P(RefusedRowsTest, RefusedRowsAreFoundWithoutATransactionForEachHalf) {
    on_insert("IF new.record_offset % 20 = 0 THEN RAISE EXCEPTION 'no'; END IF;");
    ScriptedLog log(2);
    append_keys(log, 0, "k", 200);
    append_keys(log, 1, "l", 200);
    EXPECT_LE(transactions(log, options()), 12);
    EXPECT_EQ(totals_, (Totals{.applied = 380, .dead_lettered = 20}));
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters WHERE sqlstate = 'P0001' "
                                "AND record_offset % 20 = 0"),
              20);
    expect_no_violations(log, {.some_rejected = true});
}

// The partition of the bad row is given up between the refusal and the search, which finds nothing
// in the message that is left.
TEST_P(RefusedRowsTest, AMessageThatIsLeftAloneBeforeTheSearchLands) {
    on_insert("IF new.key = 'bad' THEN RAISE EXCEPTION 'no'; END IF;");
    ScriptedLog log(2);
    log.append(0, {.key = "bad"});
    log.append(1, {.key = "good"});
    CoreWorkerOptions giving_up = options();
    giving_up.overdue = [&] {
        return sink_.writes > 0 ? std::set{Partition{0}} : std::set<Partition>{};
    };
    CoreWorker worker(log, sink_, giving_up);
    ASSERT_TRUE(worker.step());
    EXPECT_EQ(worker.totals, Totals{.applied = 1});
    EXPECT_EQ(effects("key = 'good'"), 1);
    EXPECT_EQ(fence(0), 0);
    EXPECT_EQ(fence(1), 1);
    EXPECT_EQ(dead_letters(), "");
}

// The row of 90 needs that of 91, which its own statement cannot see yet.
TEST_P(RefusedRowsTest, WhatIsCheckedAtTheEndAloneIsNotRefusedBesideABadRow) {
    const std::string parents = schema_.user_table("parents", "name text PRIMARY KEY");
    const std::string children = schema_.user_table(
        "children", "name text REFERENCES " + parents + " DEFERRABLE INITIALLY DEFERRED");
    on_insert("IF new.key = 'k5' THEN RAISE EXCEPTION 'no'; END IF; "
              "IF new.key = 'k90' THEN INSERT INTO " + children + " VALUES ('p'); END IF; "
              "IF new.key = 'k91' THEN INSERT INTO " + parents + " VALUES ('p'); END IF;");
    ScriptedLog log(1);
    append_keys(log, 0, "k", 100);
    transactions(log, options());
    EXPECT_EQ(totals_, (Totals{.applied = 99, .dead_lettered = 1}));
    EXPECT_EQ(dead_letters(), "5 P0001");
}

// What a dead letter claimed would make a duplicate of the corrected message.
TEST_P(RefusedRowsTest, ARefusedMessageHoldsNoClaim) {
    on_insert("IF new.record_offset = 30 THEN RAISE EXCEPTION 'no'; END IF;");
    ScriptedLog log(1);
    append_keys(log, 0, "k", 30);
    log.append(0, {.key = "again"});
    append_keys(log, 0, "l", 30);
    log.append(0, {.key = "again"});
    transactions(log, options());
    EXPECT_EQ(totals_, (Totals{.applied = 61, .dead_lettered = 1}));
    EXPECT_EQ(effects("key = 'again' AND record_offset = 61"), 1);
    expect_no_violations(log, {.some_rejected = true});
}

// Together they are too slow for the statement's limit, and none of them is alone.
TEST_P(RefusedRowsTest, ABatchThatTimesOutIsTriedInHalvesAtOnce) {
    on_insert("PERFORM pg_sleep(0.02);");
    ScriptedLog log(1);
    append_keys(log, 0, "k", 200);
    CoreWorkerOptions slow = options();
    slow.connection.statement_timeout = std::chrono::milliseconds(1500);
    const auto tried = transactions(log, slow);
    EXPECT_EQ(totals_.applied, 200);
    // On a slow machine the parts that fit are smaller. A part that does not fit is tried once, so
    // there is one less of them than of those that were committed.
    const auto committed =
        database().number("SELECT count(DISTINCT xmin::text) FROM " + table_);
    EXPECT_GT(committed, 1);
    EXPECT_LT(tried, 2 * committed);
    expect_no_violations(log);
}

// While the search for a bad row tries the others one by one.
TEST_P(RefusedRowsTest, ALockThatTheSearchMeetsIsNoMessagesFault) {
    const std::string held = schema_.user_table("held", "n integer");
    on_insert("IF new.key = 'k5' THEN RAISE EXCEPTION 'no'; END IF; IF new.key = 'k90' THEN "
              "LOCK TABLE " +
              held + " IN ACCESS SHARE MODE NOWAIT; END IF;");
    ScriptedLog log(1);
    append_keys(log, 0, "k", 100);
    CoreWorker worker(log, sink_, options());
    database().execute("BEGIN; LOCK TABLE " + held);
    ASSERT_TRUE(worker.step());
    EXPECT_EQ(worker.failures["55P03"], 1);
    database().execute("COMMIT");
    EXPECT_EQ(dead_letters(), "");
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(dead_letters(), "5 P0001");
}

TEST_P(RefusedRowsTest, AMissingRightThatTheSearchMeetsStopsTheTopic) {
    database().execute("CREATE TABLE secret (n integer)");
    on_insert("IF new.key = 'k5' THEN RAISE EXCEPTION 'no'; END IF; IF new.key = 'k90' THEN "
              "EXECUTE 'SELECT 1 FROM " +
              schema_.name() + ".secret'; END IF;");
    ScriptedLog log(1);
    append_keys(log, 0, "k", 100);
    CoreWorker worker(log, sink_, options());
    EXPECT_THROW(worker.run(), PostgresError);
    EXPECT_EQ(dead_letters(), "");
}

// One slow moment of the server is no reason to halt, and the message is never a dead letter.
TEST_P(RefusedRowsTest, AMessageThatTimesOutAloneIsTriedAgainAndThenHoldsItsPartition) {
    database().execute("CREATE SEQUENCE tries; GRANT USAGE ON SEQUENCE tries TO PUBLIC");
    on_insert("IF new.key = 'l0' OR nextval('" + schema_.name() +
              ".tries') <= 3 THEN PERFORM pg_sleep(60); END IF;");
    CoreWorkerOptions slow = options();
    slow.connection.statement_timeout = std::chrono::milliseconds(300);
    ScriptedLog log(1);
    append_keys(log, 0, "k", 1);
    CoreWorker worker(log, sink_, slow);
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(worker.failures["57014"], 3);
    EXPECT_EQ(effects(), 1);
    append_keys(log, 0, "l", 1);
    const auto halted = halt_of(worker);
    ASSERT_TRUE(halted);
    EXPECT_EQ(halted->offset, Offset{1});
    EXPECT_EQ(fence(0), 1);
    EXPECT_EQ(dead_letters(), "");
}

INSTANTIATE_TEST_SUITE_P(Ledgers, RefusedRowsTest, every_ledger, name_of);

}  // namespace
}  // namespace onceward::support
