// Rotation, expiry and rights of the inbox.

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "tests/integration/dedup/inbox/inbox_scene.h"
#include "tests/support/eventually.h"
#include "tests/support/one_waits.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

class InboxKeepTest : public InboxTest {
  protected:
    Row expire(const std::string& ledger = "inbox") {
        return session_.database
            .execute("SELECT sealed, unlisted, dropped, held_up_by FROM expire($1, '0')", {ledger})
            .front();
    }
    // A ledger whose claims expire at once.
    void register_short() {
        session_.database.execute(
            "SELECT register_ledger('short', retention => '1 s', longest_request => '500 ms')");
    }
    std::string wait_until_old() { return database().value("SELECT pg_sleep(1.6)"); }
};

// DANGER: the lock and the look in one statement would see the list of before the rotation.
TEST_F(InboxKeepTest, AClaimThatWaitedForARotationSeesWhatItSealed) {
    other_.once("a");
    session_.begin();
    session_.database.execute("SELECT rotate_ledger(1, 1)");
    std::string outcome;
    std::thread waiting([&] { outcome = other_.claim("a").outcome; });
    EXPECT_TRUE(waits_for_a_lock(database(), other_.database.pid()));
    session_.commit();
    waiting.join();
    EXPECT_EQ(outcome, "duplicate");
}

TEST_F(InboxKeepTest, ASessionThatClaimedBeforeARotationClaimsInTheNewGeneration) {
    other_.once("a");
    database().execute("SELECT rotate_ledger(1, 1)");
    EXPECT_EQ(other_.once("b").outcome, "fresh");
    EXPECT_EQ(other_.once("a").outcome, "duplicate");
    EXPECT_EQ(claims("1_1"), 1);
    EXPECT_EQ(claims("1_2"), 1);
    database().execute("SELECT rotate_ledger(1, 2)");
    EXPECT_EQ(other_.once("a").outcome, "duplicate");
    EXPECT_EQ(other_.once("b").outcome, "duplicate");
    EXPECT_EQ(session_.once("c").outcome, "fresh");
    EXPECT_EQ(claims("1_3"), 1);
}

// A session may run the functions' texts of before a rotation for a moment. A claim in the sealed
// generation would be seen by nobody, and its key would take effect twice.
TEST_F(InboxKeepTest, TheTextOfAnOlderGenerationClaimsNothing) {
    session_.database.execute("SELECT register_ledger('bare', stores_results => false)");
    const auto text_of = [&](const std::string& name) {
        return database().value("SELECT pg_get_functiondef('" + name + "'::regproc)");
    };
    const std::string claim = text_of("inbox_claim_2");
    const std::string claims = text_of("inbox_claims_2");
    database().execute("SELECT rotate_ledger(2, 1)");
    database().execute(claim);
    database().execute(claims);
    EXPECT_EQ(sqlstate_of([&] { session_.claim("a", "ledger => 'bare'"); }), "40001");
    EXPECT_EQ(sqlstate_of([&] {
                  session_.database.execute(
                      "SELECT claim_many('pay', '', 'id', ARRAY['a'], ledger => 'bare')");
              }),
              "40001");
    EXPECT_EQ(InboxTest::claims("2_1"), 0);
    EXPECT_EQ(InboxTest::claims("2_2"), 0);
}

TEST_F(InboxKeepTest, WhatHasExpiredIsUnlistedThenDroppedByALaterCall) {
    register_short();
    session_.once("a", "ledger => 'short'", "short");
    EXPECT_EQ(expire("short"), (Row{"t", "0", "0", std::nullopt}));
    wait_until_old();
    EXPECT_EQ(expire("short"), (Row{"f", "1", "0", std::nullopt}));
    EXPECT_EQ(session_.once("a", "ledger => 'short'", "short").outcome, "fresh");
    EXPECT_EQ(expire("short")[2], "1");
    EXPECT_EQ(database().number("SELECT count(*) FROM pg_class WHERE relname = 'claims_2_1'"), 0);
}

// All claims of the ledger would wait for an expiry that waits.
TEST_F(InboxKeepTest, ExpiryDoesNotWaitForALongTransactionAndNamesIt) {
    session_.once("a");
    other_.begin();
    const InboxAnswer held = other_.claim("b");
    const Row row = expire();
    EXPECT_EQ(row[0], "f");
    ASSERT_TRUE(row[3]);
    EXPECT_THAT(*row[3], ::testing::HasSubstr("pid " + std::to_string(other_.database.pid())));
    EXPECT_EQ(session_.database.number("SELECT pid FROM holders('inbox')"), other_.database.pid());
    other_.finish(held);
    other_.commit();
    EXPECT_EQ(expire()[0], "t");
}

// Its generations have no tables, so there is nothing to seal in it.
TEST_F(InboxKeepTest, ALeaseLedgerThatStoresNoResultsExpiresToo) {
    session_.database.execute(
        "SELECT register_ledger('calls', 'lease', retention => '1 s', longest_request => '500 ms', "
        "stores_results => false)");
    EXPECT_EQ(expire("calls"), (Row{"f", "0", "0", std::nullopt}));
    session_.database.execute(
        "SELECT end_lease(digest, attempt, ledger => 'calls') "
        "FROM lease('charge', '', 'id', 'a', ledger => 'calls')");
    wait_until_old();
    EXPECT_EQ(session_.database.value("SELECT leases FROM expire('calls', '0')"), "1");
    EXPECT_EQ(database().number("SELECT count(*) FROM leases"), 0);
}

// A generation that another session dropped from the list would be in the functions' texts.
TEST_F(InboxKeepTest, ASerializableTransactionExpiresNothing) {
    session_.database.execute("SET default_transaction_isolation = serializable");
    EXPECT_EQ(sqlstate_of([&] { expire(); }), "OW001");
}

// A prepared transaction is no session: nothing ends it but an operator, so it has to be named.
class InboxPreparedTest : public InboxKeepTest {
  protected:
    InboxPreparedTest() {
        session_.once("before");
        other_.begin();
        other_.finish(other_.claim("a"));
        other_.database.execute("PREPARE TRANSACTION '" + name_ + "'");
    }
    ~InboxPreparedTest() override {
        for (const Row& row : session_.database.execute("SELECT prepared FROM holders('inbox')")) {
            if (row[0]) session_.database.execute("ROLLBACK PREPARED '" + *row[0] + "'");
        }
    }
    std::string name_ = unique_name("shop");
};

TEST_F(InboxPreparedTest, AClaimInAPreparedTransactionIsNamedAndCountsWhenThatIsCommitted) {
    const Row holder =
        session_.database.execute("SELECT pid, prepared, role FROM holders('inbox')").front();
    EXPECT_EQ(holder[0], std::nullopt);
    EXPECT_EQ(holder[1], name_);
    EXPECT_TRUE(holder[2]);
    const Row row = expire();
    EXPECT_EQ(row[0], "f");
    EXPECT_THAT(row[3].value_or(""),
                ::testing::HasSubstr("prepared transaction " + name_ + " of role "));
    session_.database.execute("SET lock_timeout = '50ms'");
    EXPECT_EQ(sqlstate_of([&] { session_.claim("a"); }), "55P03");
    session_.database.execute("COMMIT PREPARED '" + name_ + "'");
    EXPECT_EQ(session_.claim("a").outcome, "duplicate");
    EXPECT_EQ(expire()[0], "t");
}

TEST_F(InboxPreparedTest, APreparedTransactionThatIsRolledBackFreesItsKeys) {
    session_.database.execute("ROLLBACK PREPARED '" + name_ + "'");
    EXPECT_EQ(session_.once("a").outcome, "fresh");
}

TEST_F(InboxPreparedTest, AClaimWithoutAResultIsNotPrepared) {
    session_.begin();
    session_.claim("b");
    EXPECT_EQ(sqlstate_of([&] { session_.database.execute("PREPARE TRANSACTION 'unfinished'"); }),
              "OW005");
    EXPECT_EQ(session_.once("b").outcome, "fresh");
}

// One session that is forgotten must not stop retention for ever.
TEST_F(InboxKeepTest, ATransactionThatIsIdleForTooLongIsEndedWithItsClaim) {
    session_.database.execute("SELECT register_ledger('quick', longest_request => '100 ms')");
    other_.begin();
    other_.claim("a", "ledger => 'quick'");
    EXPECT_TRUE(eventually(10s, [&] {
        return database().number("SELECT count(*) FROM pg_stat_activity WHERE pid = " +
                                 std::to_string(other_.database.pid())) == 0;
    }));
    EXPECT_EQ(session_.once("a", "ledger => 'quick'", "quick").outcome, "fresh");
}

TEST_F(InboxKeepTest, AKeyThatIsOlderThanTheLedgersMemoryIsRefused) {
    register_short();
    const std::string old = "ledger => 'short', minted_at => now() - interval '1 hour'";
    EXPECT_EQ(session_.once("backlog", old, "short").outcome, "fresh")
        << "nothing was forgotten yet: an old backlog is applied";
    expire("short");
    wait_until_old();
    EXPECT_EQ(expire("short")[1], "1");
    EXPECT_EQ(session_.once("backlog", old, "short").outcome, "expired");
    EXPECT_EQ(session_.once("other", old, "short").outcome, "expired");
    EXPECT_EQ(session_.once("new", "ledger => 'short', minted_at => now()", "short").outcome,
              "fresh")
        << "a quarter of a short retention is all that clocks may differ";
    EXPECT_EQ(
        sqlstate_of([&] { session_.claim("x", "minted_at => now() + interval '2 minutes'"); }),
        "OW004");
}

TEST_F(InboxKeepTest, TheSameKeyWithAnotherTimeIsAConflict) {
    EXPECT_EQ(session_.once("a", "minted_at => '2026-01-01 00:00:00Z'").outcome, "fresh");
    EXPECT_EQ(session_.once("a", "minted_at => '2026-01-01 00:00:01Z'").outcome, "conflict");
    EXPECT_EQ(session_.once("a", "minted_at => '2026-01-01 00:00:00Z'").outcome, "duplicate");
}

TEST_F(InboxKeepTest, AForgottenKeyIsFreshAgain) {
    session_.once("a");
    EXPECT_EQ(
        sqlstate_of([&] { session_.database.execute("SELECT forget('pay', '', 'id', 'a', '')"); }),
        "OW004");
    EXPECT_EQ(session_.database.value("SELECT forget('pay', '', 'id', 'a', 'paid by hand')"), "t");
    EXPECT_EQ(session_.database.value("SELECT forget('pay', '', 'id', 'a', 'again')"), "f");
    EXPECT_EQ(session_.once("a").outcome, "fresh");
    EXPECT_EQ(database().value("SELECT reason FROM evictions"), "paid by hand");
}

// All claims of the ledger wait while forget() waits for its lock.
TEST_F(InboxKeepTest, ForgetDoesNotWaitForALongTransactionAndNamesIt) {
    session_.once("a");
    session_.database.execute("SET lock_timeout = '20s'");
    other_.begin();
    const InboxAnswer held = other_.claim("b");
    const std::string forget = "SELECT forget('pay', '', 'id', 'a', 'paid by hand')";
    const auto begun = std::chrono::steady_clock::now();
    try {
        session_.database.execute(forget);
        ADD_FAILURE() << "a claim was open";
    } catch (const DatabaseError& error) {
        EXPECT_EQ(error.sqlstate(), "55P03");
        EXPECT_THAT(error.what(),
                    ::testing::HasSubstr("pid " + std::to_string(other_.database.pid())));
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s) << "the caller's limit is another";
    other_.finish(held);
    other_.commit();
    session_.begin();
    EXPECT_EQ(session_.database.value(forget), "t");
    EXPECT_EQ(session_.database.value("SHOW lock_timeout"), "20s") << "the caller's is put back";
    EXPECT_EQ(session_.database.value("SHOW idle_in_transaction_session_timeout"), "1min");
    session_.commit();
}

class InboxRightsTest : public InboxKeepTest {
  protected:
    InboxRightsTest() {
        session_.once("a");
        database().execute("CREATE ROLE " + role_);
        database().execute("SELECT grant_inbox('" + role_ + "', 'inbox', 'pay')");
        other_.database.execute("SET ROLE " + role_);
    }
    ~InboxRightsTest() override {
        other_.database.execute("RESET ROLE");
        database().execute("DROP OWNED BY " + role_ + "; DROP ROLE " + role_);
    }
    std::string state(const std::string& statement) {
        return sqlstate_of([&] { other_.database.execute(statement); });
    }
    std::string role_ = unique_name("app");
};

TEST_F(InboxRightsTest, ARoleHasTheOperationsThatItWasGivenAndNoTable) {
    EXPECT_EQ(other_.once("b").outcome, "fresh");
    EXPECT_EQ(other_.once("a").body, "paid a");
    EXPECT_EQ(state("SELECT claim('refund', '', 'id', 'a')"), "OW003");
    EXPECT_EQ(state("SELECT claim('pay', '', 'id', 'a', ledger => 'nobody')"), "OW003")
        << "whether a ledger is there is not told";
    for (const std::string table : {"claims_1_1", "results_1_1", "ledgers", "inbox_grants"}) {
        EXPECT_EQ(state("SELECT * FROM " + table), "42501") << table;
    }
    for (const std::string call :
         {"grant_inbox('x', 'inbox')", "rotate_ledger(1, 1)", "write_inbox(1)",
          "lease_result(1, gen_random_uuid())", "unlist_expired(1)"}) {
        EXPECT_EQ(state("SELECT " + call), "42501") << call;
    }
    EXPECT_EQ(state("SELECT expire('inbox')"), "OW003") << "that is for who has all operations";
}

TEST_F(InboxRightsTest, WhatTheCallerPutsIntoItsSearchPathIsNotCalled) {
    database().execute("CREATE SCHEMA " + role_ + " AUTHORIZATION " + role_);
    other_.database.execute(
        "CREATE FUNCTION " + role_ +
        ".sha256(bytea) RETURNS bytea LANGUAGE sql AS 'SELECT ''\\x00''::bytea'");
    other_.database.execute("SET search_path = " + role_ + ", " + schema_.name() + ", pg_catalog");
    EXPECT_EQ(other_.claim("a").outcome, "duplicate");
    other_.database.execute("SET search_path = " + schema_.name());
}

}  // namespace
}  // namespace onceward::support
