// claim() and finish(): a key takes effect once, whichever program claims it.

#include <gmock/gmock.h>

#include <thread>

#include "dedup/message/digest.h"
#include "dedup/once.h"
#include "tests/integration/dedup/inbox/inbox_scene.h"
#include "tests/support/one_waits.h"

namespace onceward::support {
namespace {

TEST_F(InboxTest, TheDigestIsTheOneOfTheProduct) {
    for (const std::string& text :
         {std::string("a"), std::string("J\xc3\xb6rg"), std::string(255, 'x')}) {
        for (const std::string& tenant : {std::string(), std::string("acme")}) {
            const Rows rows =
                database().execute("SELECT key_digest('pay', $1, 'id', $2::text)", {tenant, text});
            EXPECT_EQ(rows[0][0], uuid_text(digest_of({"pay", tenant, "id", text})));
        }
    }
    EXPECT_EQ(database().value("SELECT key_digest('pay', '', 'id', '\\x00ff'::bytea)"),
              uuid_text(digest_of({"pay", "", "id", std::string_view("\0\xff", 2)})));
    EXPECT_EQ(database().value("SELECT fingerprint('abc')"), uuid_text(digest_of_bytes("abc")));
}

// The unit tests have the same text as the key of a message.
TEST_F(InboxTest, SqlWritesTheKeyOfSeveralFieldsAsTopicsDo) {
    EXPECT_EQ(
        database().execute("SELECT '[' || to_json($1::text) || ',' || to_json($2::text) || ']'",
                           {"a\"b\\c/d", "J\xc3\xb6rg\x01\n\x7f"})[0][0],
        "[\"a\\\"b\\\\c/d\",\"J\xc3\xb6rg\\u0001\\n\x7f\"]");
}

TEST_F(InboxTest, AKeyIsFreshOnceAndItsResultIsReplayed) {
    EXPECT_EQ(session_.once("a").outcome, "fresh");
    const InboxAnswer again = other_.once("a");
    EXPECT_EQ(again.outcome, "duplicate");
    EXPECT_EQ(again.status, "201");
    EXPECT_EQ(again.body, "paid a");
    EXPECT_FALSE(again.mine);
    EXPECT_EQ(session_.once("b").outcome, "fresh");
    EXPECT_EQ(claims(), 2);
}

TEST_F(InboxTest, AKeyOfOnceIsKnownHereAndTheOtherWayRound) {
    Connection connection(schema_.worker());
    const OnceLedger ledger(connection, {.ledger = "inbox"});
    const auto call = [&](const std::string& key) {
        return once(connection, {.operation = "pay", .text = key}, ledger,
                    [](Transaction&) { return MessageResult{.status = 201, .body = "by C++"}; })
            .kind;
    };
    const auto claim = [&](const std::string& key) {
        session_.begin();
        const Row row = session_.database
                            .execute(
                                "SELECT outcome, digest, attempt, convert_from(body, 'UTF8') "
                                "FROM claim('pay', '', 'once', $1::text)",
                                {key})
                            .front();
        if (row[0] == "fresh") session_.finish({*row[0], *row[1], *row[2], false, {}, {}});
        session_.commit();
        return *row[0] + row[3].value_or("");
    };
    EXPECT_EQ(call("a"), OnceAnswer::Kind::applied);
    EXPECT_EQ(claim("a"), "duplicateby C++");
    EXPECT_EQ(claim("b"), "fresh");
    EXPECT_EQ(call("b"), OnceAnswer::Kind::replayed);
}

TEST_F(InboxTest, AKeyOfOnceHasAKindOfTheCallersChoice) {
    Connection connection(schema_.worker());
    const OnceLedger ledger(connection, {.ledger = "inbox"});
    EXPECT_EQ(session_.once("a").outcome, "fresh");
    const auto call = [&](std::string_view kind) {
        const OnceKey key{.operation = "pay", .text = "a", .kind = kind};
        return once(connection, key, ledger, [](Transaction&) { return MessageResult{}; }).kind;
    };
    EXPECT_EQ(call("id"), OnceAnswer::Kind::replayed);
    EXPECT_EQ(call("another"), OnceAnswer::Kind::applied);
}

TEST_F(InboxTest, AnotherFingerprintIsAConflict) {
    EXPECT_EQ(session_.once("a", "fingerprint('1')").outcome, "fresh");
    EXPECT_EQ(session_.once("a", "fingerprint('2')").outcome, "conflict");
    EXPECT_EQ(session_.once("a", "fingerprint('1')").outcome, "duplicate");
    EXPECT_EQ(session_.once("a").outcome, "duplicate") << "without one nothing is compared";
}

// DANGER: there a claim that was sealed after the snapshot would not be seen.
TEST_F(InboxTest, OnlyReadCommittedMayClaim) {
    for (const std::string level : {"REPEATABLE READ", "SERIALIZABLE"}) {
        session_.database.execute("BEGIN ISOLATION LEVEL " + level);
        EXPECT_EQ(sqlstate_of([&] { session_.claim("a"); }), "OW001") << level;
        session_.rollback();
    }
    EXPECT_EQ(claims(), 0);
}

TEST_F(InboxTest, AClaimIsNotCommittedWithoutItsResult) {
    session_.begin();
    EXPECT_EQ(session_.claim("a").outcome, "fresh");
    EXPECT_EQ(sqlstate_of([&] { session_.commit(); }), "OW005");
    EXPECT_EQ(claims(), 0);
    EXPECT_EQ(session_.once("a").outcome, "fresh");
}

TEST_F(InboxTest, ALedgerWithoutResultsNeedsNone) {
    session_.database.execute("SELECT register_ledger('bare', stores_results => false)");
    EXPECT_EQ(session_.claim("a", "ledger => 'bare'").outcome, "fresh");
    const InboxAnswer again = session_.claim("a", "ledger => 'bare'");
    EXPECT_EQ(again.outcome, "duplicate");
    EXPECT_EQ(sqlstate_of([&] { session_.finish(again, "x", "ledger => 'bare'"); }), "OW002");
}

TEST_F(InboxTest, FinishBelongsIntoTheTransactionOfTheClaim) {
    const InboxAnswer first = session_.once("a");
    EXPECT_EQ(sqlstate_of([&] { session_.finish(first); }), "OW006");
    session_.begin();
    InboxAnswer answer = session_.claim("b");
    EXPECT_EQ(sqlstate_of([&] { other_.finish(answer); }), "OW006");
    session_.finish(answer);
    EXPECT_EQ(sqlstate_of([&] { session_.finish(answer); }), "23505") << "a second result";
    session_.rollback();
    EXPECT_EQ(claims(), 1);
}

TEST_F(InboxTest, ASavepointTakesItsClaimWithIt) {
    session_.begin();
    session_.database.execute("SAVEPOINT work");
    EXPECT_EQ(session_.claim("a").outcome, "fresh");
    session_.database.execute("ROLLBACK TO work");
    session_.commit();
    EXPECT_EQ(claims(), 0);
    EXPECT_EQ(session_.once("a").outcome, "fresh");
}

TEST_F(InboxTest, TheSameKeyTwiceInATransactionIsFreshOnce) {
    session_.begin();
    const InboxAnswer first = session_.claim("a");
    EXPECT_EQ(session_.claim("a").outcome, "duplicate");
    session_.finish(first, "x");
    EXPECT_EQ(session_.claim("a").body, "x");
    session_.commit();
}

// The COMMIT's answer was lost: the same attempt claims again and learns that the result is its
// own.
TEST_F(InboxTest, ACommitInDoubtIsResolvedByTheAttempt) {
    const std::string attempt = "attempt => '5b2c1b4e-8f0e-4b76-9f8f-0d5e0f4d8b11'";
    EXPECT_FALSE(session_.once("a", attempt).mine);
    EXPECT_TRUE(other_.once("a", attempt).mine);
    EXPECT_FALSE(other_.once("a").mine);
}

TEST_F(InboxTest, AFailureIsStoredAndToldAgain) {
    session_.begin();
    const InboxAnswer claimed = session_.claim("a");
    session_.finish(claimed, "declined", "failed => true");
    session_.commit();
    const InboxAnswer again = session_.once("a");
    EXPECT_EQ(again.outcome, "failed");
    EXPECT_EQ(again.body, "declined");
}

TEST_F(InboxTest, AClaimWaitsForAnotherOfItsKeyNoLongerThanItsTimeout) {
    session_.begin();
    const InboxAnswer first = session_.claim("a");
    other_.database.execute("SET lock_timeout = '100ms'");
    EXPECT_EQ(sqlstate_of([&] { other_.claim("a"); }), "55P03");
    other_.database.execute("SET lock_timeout = '10s'");
    std::string outcome;
    std::thread waiting([&] { outcome = other_.claim("a").outcome; });
    EXPECT_TRUE(waits_for_a_lock(database(), other_.database.pid()));
    session_.finish(first);
    session_.commit();
    waiting.join();
    EXPECT_EQ(outcome, "duplicate");
    EXPECT_EQ(other_.database.value("SHOW lock_timeout"), "10s") << "the caller's own is put back";
}

TEST_F(InboxTest, BadInputIsOneClearErrorAndClaimsNothing) {
    const auto state = [&](const std::string& call) {
        return sqlstate_of([&] { session_.database.execute("SELECT * FROM " + call); });
    };
    EXPECT_EQ(state("claim('pay', '', 'id', NULL::text)"), "OW004");
    EXPECT_EQ(state("claim('pay', '', 'id', ''::text)"), "OW004");
    EXPECT_EQ(state("claim('pay', '', 'id', repeat('x', 256))"), "OW004");
    EXPECT_EQ(state("claim('pay', '', 'id', '\\x6100'::bytea)"), "OW004");
    EXPECT_EQ(state("claim(NULL, '', 'id', 'a')"), "OW004");
    EXPECT_EQ(state("claim('', '', 'id', 'a')"), "OW004");
    EXPECT_EQ(state("claim('pay', NULL, 'id', 'a')"), "OW004");
    EXPECT_EQ(state("claim('pay', '', '', 'a')"), "OW004");
    EXPECT_EQ(state("claim('pay', '', 'id', 'a', ledger => 'nobody')"), "OW002");
    EXPECT_EQ(state("claim('pay', '', 'id', 'a', ledger => NULL)"), "OW002");
    EXPECT_EQ(state("lease('pay', '', 'id', 'a', ledger => 'inbox')"), "OW002");
    EXPECT_EQ(state("claim_many('pay', '', 'id', NULL::text[])"), "OW004");
    EXPECT_EQ(state("claim_many('pay', '', 'id', ARRAY['a', NULL])"), "OW004");
    EXPECT_EQ(state("claim_many('pay', '', 'id', ARRAY['a'], ARRAY[]::uuid[])"), "OW004");
    EXPECT_EQ(claims(), 0);
}

TEST_F(InboxTest, AResultHasItsLimits) {
    session_.database.execute("SELECT register_ledger('inbox', max_result_bytes => 10)");
    session_.begin();
    InboxAnswer claimed = session_.claim("a");
    EXPECT_EQ(sqlstate_of([&] { session_.finish(claimed, "12345678901"); }), "OW007");
    session_.rollback();
    session_.begin();
    claimed = session_.claim("a");
    session_.finish(claimed, "1234567890");
    session_.commit();
    for (const std::string bad :
         {"status => NULL", "headers => NULL", "headers => '{}'", "headers => '[1]'",
          "body => NULL", "failed => NULL", "tenant => NULL"}) {
        EXPECT_EQ(sqlstate_of([&] {
                      session_.database.execute("SELECT finish('" + claimed.digest + "', '" +
                                                claimed.attempt + "', " + bad + ")");
                  }),
                  "OW004")
            << bad;
    }
}

}  // namespace
}  // namespace onceward::support
