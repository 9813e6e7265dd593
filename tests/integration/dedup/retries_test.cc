// Messages that are refused for a reason that may pass, on a real server.

#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

using std::chrono::milliseconds;

class RetriesTest : public CoreTest {
  protected:
    // A sequence is not rolled back: payload 'x:N' is taken at the N-th try. 'never' never is.
    RetriesTest() {
        database().execute(
            "CREATE SEQUENCE tries; GRANT USAGE ON SEQUENCE tries TO PUBLIC; "
            "CREATE FUNCTION mind() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            "IF new.payload = 'never' THEN RAISE 'no'; END IF; "
            "IF new.payload LIKE 'x:%' AND nextval('" +
            schema_.name() +
            ".tries') < "
            "split_part(new.payload, ':', 2)::bigint THEN RAISE 'not yet'; END IF; "
            "RETURN new; END $$; CREATE TRIGGER mind BEFORE INSERT ON effects FOR EACH ROW EXECUTE "
            "FUNCTION mind(); GRANT EXECUTE ON FUNCTION mind() TO PUBLIC");
    }
    CoreWorkerOptions with_retries(int attempts) {
        CoreWorkerOptions patient = options();
        patient.policy.retries = attempts;
        patient.policy.retry_backoff = milliseconds(10);
        return patient;
    }
};

TEST_F(RetriesTest, AMessageThatIsTakenLaterIsAppliedInItsPlace) {
    ScriptedLog log(1);
    append_keys(log, 0, "before", 3);
    log.append(0, {.key = "key", .payload = "x:8"});
    append_keys(log, 0, "after", 3);
    CoreWorker worker(log, sink_, with_retries(10));
    ASSERT_TRUE(worker.run());
    EXPECT_GT(worker.waited, 0);
    expect_no_violations(log);
    EXPECT_EQ(effects("key = 'key'"), 1);
    EXPECT_EQ(database().number("SELECT count(*) FROM (SELECT record_offset, lag(record_offset) "
                                "OVER (ORDER BY landed) AS before FROM effects) AS s "
                                "WHERE before > record_offset"),
              0);
}

TEST_F(RetriesTest, OnceItHasHadItsTriesItIsADeadLetterWithTheirNumber) {
    ScriptedLog log(1);
    append_keys(log, 0, "before", 3);
    log.append(0, {.key = "key", .payload = "never"});
    append_keys(log, 0, "after", 3);
    CoreWorker worker(log, sink_, with_retries(4));
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(worker.waited, 4);
    EXPECT_EQ(worker.pauses.front(), milliseconds(10));
    EXPECT_EQ(worker.pauses.back(), milliseconds(80));
    EXPECT_EQ(database().value("SELECT concat_ws(' ', record_offset, sqlstate, attempts) "
                               "FROM dead_letters"),
              "3 P0001 5");
    expect_no_violations(log, {.some_rejected = true});
    EXPECT_EQ(effects(), 6);
}

// The partition waits, and nothing of it passes the message; the others land.
TEST_F(RetriesTest, WhileItWaitsTheFenceStaysBeforeItAndOtherPartitionsGoOn) {
    ScriptedLog log(2);
    append_keys(log, 0, "before", 3);
    log.append(0, {.key = "key", .payload = "never"});
    append_keys(log, 0, "after", 3);
    append_keys(log, 1, "other", 10);
    CoreWorker worker(log, sink_, with_retries(1000));
    while (worker.waited < 3) ASSERT_TRUE(worker.step());
    EXPECT_EQ(fence(0), 3);
    EXPECT_EQ(fence(1), 10);
    EXPECT_EQ(effects("partition = 0"), 3);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 0);
}

TEST_F(RetriesTest, WhatCannotPassIsNotTriedAgain) {
    database().execute("ALTER TABLE effects ADD CHECK (payload <> 'bad')");
    ScriptedLog log(1);
    log.append(0, {.key = "bad", .payload = "bad"});
    log.append(0, {.key = "rejected", .rejection = Rejection{}});
    CoreWorker worker(log, sink_, with_retries(5));
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(worker.waited, 0);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 2);
}

TEST_F(RetriesTest, TwoThatWaitInOnePartitionHaveTheirTriesEach) {
    ScriptedLog log(1);
    for (const char* key : {"a", "b"}) log.append(0, {.key = key, .payload = "never"});
    CoreWorker worker(log, sink_, with_retries(3));
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(worker.waited, 6);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters WHERE attempts = 4"), 2);
}

}  // namespace
}  // namespace onceward::support
