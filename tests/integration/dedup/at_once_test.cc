// A few fresh messages in one round trip: what lands so, and what has to be done with care.

#include "dedup/at_once.h"

#include "tests/integration/dedup/core_fixture.h"
#include "tests/integration/dedup/cut_commits.h"

namespace onceward::support {
namespace {

class AtOnceTest : public SealingTest {
  protected:
    AtOnceTest() : SealingTest(Reach::global) { sink_.has_statements = true; }
    CoreWorkerOptions with_hook(StepHook& hook) {
        CoreWorkerOptions mine = options("worker");
        mine.observer = &hook;
        return mine;
    }
    // How many of the next messages are applied in one round trip.
    std::int64_t land(CoreWorker& worker, const std::string& prefix, int count) {
        append_keys(log_, 0, prefix, count);
        const int writes = sink_.writes;
        const std::int64_t applied = worker.totals.applied;
        EXPECT_TRUE(worker.run());
        return sink_.writes == writes ? worker.totals.applied - applied : 0;
    }
    // Calls it when the transaction of the worker's next batch begins, once.
    std::function<void(Step)> before_the_next(std::function<void()> change) {
        return [this, change = std::move(change)](Step step) {
            if (step != Step::before_begin || !armed_) return;
            armed_ = false;
            change();
        };
    }

    ScriptedLog log_{1};
    bool armed_ = false;
};

TEST_F(AtOnceTest, AFewFreshMessagesLandWithoutAWriteOfTheirOwn) {
    CoreWorker worker(log_, sink_, options("worker"));
    EXPECT_EQ(land(worker, "a", 1), 1);
    constexpr int most = AtOnce::most_messages;
    EXPECT_EQ(land(worker, "b", most), most);
    EXPECT_EQ(land(worker, "c", most + 1), 0) << "too many";
    EXPECT_EQ(land(worker, "c", 1), 0) << "a duplicate";
    EXPECT_EQ(land(worker, "d", 2), 2);
    EXPECT_EQ(worker.totals.duplicates, 1);
    EXPECT_EQ(effects(), 68);
    EXPECT_EQ(database().number("SELECT applied FROM fences"), 68);
    CoreWorker late(log_, sink_, options("late"));
    append_keys(log_, 0, "b", 3);
    ASSERT_TRUE(late.run());
    EXPECT_EQ(late.totals.duplicates, 3);
    expect_no_violations(log_);
}

TEST_F(AtOnceTest, TheSameKeyTwiceInASliceIsDoneWithCare) {
    CoreWorker worker(log_, sink_, options("worker"));
    log_.append(0, {.key = "k"});
    log_.append(0, {.key = "k"});
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(sink_.at_once_given, 0);
    EXPECT_EQ(effects(), 1);
    EXPECT_EQ(worker.totals.duplicates, 1);
}

// DANGER: the window was read before the other's commit.
TEST_F(AtOnceTest, AKeyThatAnotherProcessClaimsMeanwhileIsADuplicate) {
    StepHook hook(before_the_next([this] {
        CoreWorkerOptions others = options("other");
        others.group = "other group";
        CoreWorker other(log_, sink_, others);
        EXPECT_TRUE(other.run());
    }));
    CoreWorker worker(log_, sink_, with_hook(hook));
    ASSERT_EQ(land(worker, "a", 1), 1);
    armed_ = true;
    append_keys(log_, 0, "b", 3);
    ASSERT_TRUE(worker.run());
    EXPECT_FALSE(armed_);
    EXPECT_EQ(effects(), 4);
    EXPECT_EQ(worker.totals.duplicates, 3);
}

TEST_F(AtOnceTest, AnEvictionAndARotationAreNoticed) {
    std::string change;
    StepHook hook(before_the_next([&] { database().execute(change); }));
    CoreWorker worker(log_, sink_, with_hook(hook));
    ASSERT_EQ(land(worker, "a", 1), 1);
    int key = 0;
    for (const char* one :
         {"UPDATE ledgers SET evictions = evictions + 1", "SELECT rotate_ledger(1, 1)"}) {
        SCOPED_TRACE(one);
        change = one;
        armed_ = true;
        EXPECT_EQ(land(worker, "b" + std::to_string(++key) + "-", 1), 0);
        EXPECT_FALSE(armed_);
        // After one that was wrong, some batches are done with care.
        const int first = key;
        while (land(worker, "b" + std::to_string(++key) + "-", 1) == 0) {
            ASSERT_LT(key, first + 20);
        }
    }
    EXPECT_EQ(effects(), worker.totals.applied);
    expect_no_violations(log_);
}

// What lies below the floor was dropped, and this window may not have read it.
TEST_F(AtOnceTest, AFloorAboveWhatWasReadIsNoticed) {
    StepHook hook(
        before_the_next([this] { database().execute("UPDATE ledgers SET log_floor = 9"); }));
    CoreWorker worker(log_, sink_, with_hook(hook));
    ASSERT_EQ(land(worker, "a", 1), 1);
    armed_ = true;
    EXPECT_EQ(land(worker, "b", 1), 0);
    EXPECT_FALSE(armed_);
    EXPECT_EQ(effects(), 2);
}

TEST_F(AtOnceTest, AFenceThatIsAnothersByNowChangesNothing) {
    StepHook hook(before_the_next([this] {
        EXPECT_EQ(effects(), 1);
        database().execute("UPDATE fences SET owner = gen_random_uuid()");
    }));
    CoreWorker worker(log_, sink_, with_hook(hook));
    ASSERT_EQ(land(worker, "a", 1), 1);
    armed_ = true;
    append_keys(log_, 0, "b", 2);
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(worker.missed, 1) << "it takes the fence again";
    EXPECT_EQ(effects(), 3);
    EXPECT_EQ(worker.totals.applied, 3);
    expect_no_violations(log_);
}

// The other half of what a fence compares.
TEST_F(AtOnceTest, AFenceThatHasAnotherOffsetByNowChangesNothing) {
    StepHook hook(before_the_next(
        [this] { database().execute("UPDATE fences SET next_offset = next_offset + 1"); }));
    CoreWorker worker(log_, sink_, with_hook(hook));
    ASSERT_EQ(land(worker, "a", 1), 1);
    armed_ = true;
    append_keys(log_, 0, "b", 2);
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(worker.missed, 1);
    EXPECT_EQ(effects("key = 'b0'"), 0) << "somebody moved the fence over it";
    EXPECT_EQ(effects("key = 'b1'"), 1);
}

// One of two fences is lost. The other one alone must not carry the batch.
TEST_F(AtOnceTest, OneFenceOfSeveralThatIsAnothersChangesNothing) {
    ScriptedLog log{2};
    StepHook hook(before_the_next([this] {
        database().execute("UPDATE fences SET owner = gen_random_uuid() WHERE partition = 1");
    }));
    CoreWorker worker(log, sink_, with_hook(hook));
    append_keys(log, 0, "a", 2);
    append_keys(log, 1, "b", 2);
    armed_ = true;
    ASSERT_TRUE(worker.run());
    EXPECT_FALSE(armed_);
    EXPECT_EQ(sink_.at_once_given, 1);
    EXPECT_EQ(worker.missed, 1) << "it takes that fence again";
    EXPECT_EQ(effects(), 4);
    EXPECT_EQ(worker.totals.applied, 4);
    EXPECT_EQ(worker.totals.duplicates, 0);
    expect_no_violations(log);
}

TEST_F(AtOnceTest, ARowThatIsRefusedGoesToTheDeadLettersAlone) {
    database().execute("ALTER TABLE " + table_ + " ADD CHECK (key <> 'b1')");
    CoreWorker worker(log_, sink_, options("worker"));
    append_keys(log_, 0, "b", 3);
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(effects(), 2);
    EXPECT_EQ(worker.totals.dead_lettered, 1);
    EXPECT_EQ(database().value("SELECT sqlstate FROM dead_letters"), "23514");
    const Expectation one_rejected{.some_rejected = true};
    expect_no_violations(log_, one_rejected);
}

// What a row's insertion sees of its transaction's limits.
TEST_F(AtOnceTest, NoStatementTakesLongerThanItMayOrTheUserAllows) {
    using std::chrono::milliseconds;
    database().execute("ALTER TABLE " + table_ +
                       " ADD lock text DEFAULT current_setting('lock_timeout'),"
                       " ADD whole text DEFAULT current_setting('statement_timeout')");
    struct Case {
        milliseconds lock, statement;
        const char* seen;
    };
    int number = 0;
    for (const auto& [lock, statement, seen] :
         {Case{milliseconds(10'000), milliseconds(60'000), "200ms 200ms"},
          Case{milliseconds(180), milliseconds(190), "180ms 190ms"},
          Case{milliseconds(0), milliseconds(0), "200ms 200ms"}}) {
        CoreWorkerOptions mine = options("worker");
        mine.connection.lock_timeout = lock;
        mine.connection.statement_timeout = statement;
        CoreWorker worker(log_, sink_, mine);
        EXPECT_EQ(land(worker, "k" + std::to_string(++number) + "-", 1), 1);
        EXPECT_EQ(database().value("SELECT lock || ' ' || whole FROM " + table_ +
                                   " ORDER BY landed DESC LIMIT 1"),
                  seen);
    }
}

// DANGER: a COMMIT that is cancelled while it waits for a standby commits all the same.
TEST_F(AtOnceTest, TheClaimsAndTheCommitHaveNoLimit) {
    database().execute(
        "ALTER TABLE claims_1_1 ADD seen text DEFAULT current_setting('lock_timeout') || ' ' || "
        "current_setting('statement_timeout')");
    CoreWorker worker(log_, sink_, options("worker"));
    EXPECT_EQ(land(worker, "a", 1), 1);
    EXPECT_EQ(database().value("SELECT seen FROM claims_1_1"), "0 0");
}

TEST_F(AtOnceTest, AWaitForTheTableWhileItsStatementIsPreparedIsNotRepeatedByTheSteps) {
    CoreWorkerOptions mine = options("worker");
    mine.connection.lock_timeout = std::chrono::milliseconds(100);
    CoreWorker worker(log_, sink_, mine);
    append_keys(log_, 0, "a", 2);
    database().execute("BEGIN");
    database().execute("LOCK TABLE " + table_);
    ASSERT_TRUE(worker.step());
    EXPECT_EQ(worker.failures["55P03"], 1);
    EXPECT_EQ(sink_.at_once_given, 1);
    EXPECT_EQ(sink_.writes, 0);
    database().execute("COMMIT");
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(effects(), 2);
    expect_no_violations(log_);
}

// DANGER: in doubt at any byte. A session that is lost says nothing of what the server did.
TEST_F(AtOnceTest, ALostAnswerIsDecidedByTheFenceAndTheClaims) {
    CutCommits cuts(server_port());
    CoreWorker worker(log_, sink_, cuts.through(options("in doubt")));
    int landed = 0;
    constexpr int rounds = 60;
    for (int round = 0; round < rounds; ++round) {
        append_keys(log_, 0, "k" + std::to_string(round) + "-", 1 + round % 4);
        worker.connect();
        worker.take_fences();
        const std::int64_t begin = worker.position(0).raw();
        ASSERT_TRUE(worker.fill());
        ASSERT_NO_FATAL_FAILURE(cuts.process(worker));
        landed += database().number("SELECT next_offset FROM fences FOR UPDATE") > begin ? 1 : 0;
    }
    ASSERT_TRUE(worker.run());
    std::cout << landed << " of " << rounds << " commits in doubt took effect\n";
    EXPECT_EQ(worker.in_doubt, rounds);
    EXPECT_GE(landed, 10);
    EXPECT_LE(landed, rounds - 10);
    EXPECT_GE(sink_.at_once_given, rounds / 2);
    expect_no_violations(log_);
}

// What a segment's filter says yes to cannot be presumed new.
TEST_F(AtOnceTest, AKeyThatOnlyASegmentHoldsIsADuplicate) {
    CoreWorker before(log_, sink_, options("before"));
    ASSERT_EQ(land(before, "a", 3), 3);
    ASSERT_NO_FATAL_FAILURE(seal());
    CoreWorker late(log_, sink_, options("late"));
    append_keys(log_, 0, "a", 3);
    ASSERT_TRUE(late.run());
    EXPECT_EQ(late.totals.duplicates, 3);
    EXPECT_EQ(effects(), 3);
    expect_no_violations(log_);
}

// The ledger's lock is taken before the statement that checks the log reads it.
TEST_F(AtOnceTest, ABatchThatWasWaitedForIsSeen) {
    CoreWorker worker(log_, sink_, options("worker"));
    ASSERT_EQ(land(worker, "a", 1), 1);
    Database holder(schema_.server().dsn);
    holder.execute("SET search_path TO " + schema_.name());
    holder.execute("BEGIN; SELECT pg_advisory_xact_lock(1330524999, 1)");
    holder.execute(
        "INSERT INTO claims_1_1 (source, partitions, first_offsets, last_offsets, "
        "digests) VALUES (1, '{0}', '{0}', '{0}', uuid_send('" +
        uuid_text(scripted_digest("b0")) + "'::uuid))");
    append_keys(log_, 0, "b", 1);
    auto running = std::async(std::launch::async, [&] { return worker.run(); });
    EXPECT_TRUE(eventually(std::chrono::seconds(10), [&] { return waits_for_lock("worker"); }));
    holder.execute("COMMIT");
    EXPECT_TRUE(running.get());
    EXPECT_EQ(worker.totals.duplicates, 1);
    EXPECT_EQ(effects(), 1);
}

// Open dead letters of its record key have to be read first, which a round trip cannot do.
TEST_F(AtOnceTest, WhatMayFollowADeadLetterOfItsRecordKeyIsDoneWithCare) {
    database().execute("ALTER TABLE " + table_ + " ADD CHECK (payload <> 'bad')");
    CoreWorkerOptions ordered = options("worker");
    ordered.policy.order = RejectPolicy::Order::by_key;
    log_.append(0, {.key = "a", .payload = "bad", .record_key = "K"});
    CoreWorker first(log_, sink_, ordered);
    ASSERT_TRUE(first.run());
    log_.append(0, {.key = "b", .record_key = "K"});
    CoreWorker later(log_, sink_, ordered);
    ASSERT_TRUE(later.run());
    EXPECT_EQ(sink_.at_once_given, 0);
    EXPECT_EQ(effects(), 0);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 2);
}

// DANGER: at COMMIT a deferred trigger would wait without a limit, with the ledger's lock held.
TEST_F(AtOnceTest, WhatATableDefersRunsUnderTheLimitsAndWithoutTheLedgersLock) {
    const std::string seen = schema_.user_table("seen", "whole text, locks bigint");
    database().execute(
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO " + seen +
        " SELECT current_setting('statement_timeout'), (SELECT count(*) FROM pg_locks WHERE "
        "locktype = 'advisory' AND classid = 1330524999 AND pid = pg_backend_pid()); RETURN NULL; "
        "END $$; CREATE CONSTRAINT TRIGGER note AFTER INSERT ON " +
        table_ + " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note()");
    CoreWorker worker(log_, sink_, options("worker"));
    EXPECT_EQ(land(worker, "a", 1), 1);
    EXPECT_EQ(database().value("SELECT whole || ' ' || locks FROM seen"), "200ms 0");
}

}  // namespace
}  // namespace onceward::support
