// claim_many(): a batch in one round trip.

#include <gmock/gmock.h>

#include <thread>

#include "tests/integration/dedup/inbox/inbox_scene.h"
#include "tests/support/one_waits.h"

namespace onceward::support {
namespace {

using ::testing::ElementsAre;

class InboxManyTest : public InboxTest {
  protected:
    std::vector<std::string> claim(InboxSession& session, const std::string& keys,
                                   const std::string& more = "") {
        std::vector<std::string> outcomes;
        for (const Row& row : session.database.execute(
                 "SELECT (answer).outcome FROM claim_many('pay', '', 'id', ARRAY[" + keys + "]" +
                 more + ") ORDER BY place")) {
            outcomes.push_back(*row[0]);
        }
        return outcomes;
    }
    void finish(InboxSession& session, const std::string& keys) {
        session.database.execute(
            "SELECT finish_many(ARRAY(SELECT key_digest('pay', '', 'id', k) "
            "FROM unnest(ARRAY[" +
            keys + "]) AS k), gen_random_uuid(), 200)");
    }
};

TEST_F(InboxManyTest, EachKeyHasItsOwnAnswer) {
    session_.once("b");
    session_.begin();
    EXPECT_THAT(claim(session_, "'a', 'b', 'c', 'a'"),
                ElementsAre("fresh", "duplicate", "fresh", "duplicate"));
    finish(session_, "'a', 'c'");
    session_.commit();
    EXPECT_THAT(claim(session_, "'c', 'a'"), ElementsAre("duplicate", "duplicate"));
    EXPECT_EQ(claims(), 3);
}

TEST_F(InboxManyTest, SealedGenerationsAreKnown) {
    session_.begin();
    claim(session_, "'a', 'b'");
    finish(session_, "'a', 'b'");
    session_.commit();
    database().execute("SELECT rotate_ledger(1, 1)");
    session_.begin();
    EXPECT_THAT(claim(session_, "'c', 'b', 'a'"), ElementsAre("fresh", "duplicate", "duplicate"));
    finish(session_, "'c'");
    session_.commit();
    EXPECT_EQ(claims("1_1"), 2);
    EXPECT_EQ(claims("1_2"), 1);
}

TEST_F(InboxManyTest, FingerprintsAreComparedWithinTheBatchToo) {
    session_.begin();
    EXPECT_THAT(claim(session_, "'a', 'a', 'a'",
                      ", ARRAY[fingerprint('1'), fingerprint('2'), fingerprint('1')]"),
                ElementsAre("fresh", "conflict", "duplicate"));
    session_.rollback();
}

TEST_F(InboxManyTest, NoKeysAreNoAnswers) {
    EXPECT_EQ(session_.database.number(
                  "SELECT count(*) FROM claim_many('pay', '', 'id', ARRAY[]::text[])"),
              0);
}

// In any other order these two would wait for each other until PostgreSQL ends one (40P01).
TEST_F(InboxManyTest, BatchesInOppositeOrdersDoNotDeadlock) {
    session_.begin();
    other_.begin();
    claim(session_, "'a', 'b', 'c', 'd'");
    std::vector<std::string> outcomes;
    std::thread waiting([&] { outcomes = claim(other_, "'d', 'c', 'b', 'a'"); });
    EXPECT_TRUE(waits_for_a_lock(database(), other_.database.pid()));
    finish(session_, "'a', 'b', 'c', 'd'");
    session_.commit();
    waiting.join();
    other_.rollback();
    EXPECT_THAT(outcomes, ElementsAre("duplicate", "duplicate", "duplicate", "duplicate"));
}

TEST_F(InboxManyTest, TheBytesThatComeBackAreBounded) {
    for (const std::string key : {"a", "b", "c"}) session_.once(key);
    const Rows rows = session_.database.execute(
        "SELECT (answer).outcome, (answer).body IS NULL FROM claim_many('pay', '', 'id', "
        "ARRAY['a', 'b', 'c'], max_bytes => 13) ORDER BY place");
    EXPECT_EQ(rows[0], (Row{"duplicate", "f"}));
    EXPECT_EQ(rows[1], (Row{"duplicate", "f"}));
    EXPECT_EQ(rows[2], (Row{"duplicate", "t"}));
}

TEST_F(InboxManyTest, FinishOfAKeyThatIsNotClaimedHereIsRefused) {
    session_.once("b");
    session_.begin();
    claim(session_, "'a', 'b'");
    EXPECT_EQ(sqlstate_of([&] { finish(session_, "'a', 'b'"); }), "OW006");
    session_.rollback();
}

}  // namespace
}  // namespace onceward::support
