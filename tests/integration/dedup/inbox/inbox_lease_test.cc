// lease(): effects outside the database, called by any program.

#include "sinks/webhook/rules.h"
#include "tests/integration/dedup/inbox/inbox_scene.h"
#include "tests/support/eventually.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

class InboxLeaseTest : public InboxTest {
  protected:
    InboxLeaseTest() {
        session_.database.execute("SELECT register_ledger('inbox_leases', 'lease')");
    }
    Row lease(InboxSession& session, const std::string& key, const std::string& more = "") {
        return session.database
            .execute(
                "SELECT outcome, digest, attempt, downstream_key, attempts, taken_over, "
                "convert_from(body, 'UTF8') FROM lease('charge', '', 'id', $1::text" +
                    (more.empty() ? "" : ", " + more) + ")",
                {key})
            .front();
    }
    std::string call(InboxSession& session, const std::string& function, const Row& held,
                     const std::string& more = "") {
        return *session.database
                    .execute("SELECT " + function + "($1::uuid, $2::uuid" +
                                 (more.empty() ? "" : ", " + more) + ")",
                             {held[1], held[2]})
                    .front()
                    .front();
    }
};

TEST_F(InboxLeaseTest, OneHoldsItAndItsEndIsToldToTheOthers) {
    const Row held = lease(session_, "a");
    EXPECT_EQ(held[0], "fresh");
    EXPECT_EQ(held[3], downstream_key(digest_of({"charge", "", "id", "a"})));
    EXPECT_EQ(lease(other_, "a")[0], "in_flight");
    EXPECT_EQ(call(session_, "end_lease", held, "201, body => 'charged'"), "t");
    const Row after = lease(other_, "a");
    EXPECT_EQ(after[0], "duplicate");
    EXPECT_EQ(after[6], "charged");
    EXPECT_EQ(after[3], held[3]);
}

TEST_F(InboxLeaseTest, TheSameAttemptHoldsItAgainAndEndsItOnce) {
    const std::string attempt = "attempt => '5b2c1b4e-8f0e-4b76-9f8f-0d5e0f4d8b11'";
    lease(session_, "a", attempt);
    const Row again = lease(other_, "a", attempt);
    EXPECT_EQ(again[0], "fresh");
    EXPECT_EQ(again[4], "2") << "both tries may have called";
    EXPECT_EQ(call(other_, "end_lease", again), "t");
    EXPECT_EQ(call(session_, "end_lease", again), "t") << "the COMMIT's answer was lost";
}

TEST_F(InboxLeaseTest, OneThatRanOutIsTakenOverAndTheOldOwnerEndsNothing) {
    const Row old = lease(session_, "a", "hold => '1 ms'");
    ASSERT_TRUE(eventually(10s, [&] { return lease(other_, "a")[0] == "fresh"; }));
    EXPECT_EQ(call(session_, "end_lease", old), "f");
    EXPECT_EQ(call(session_, "extend_lease", old), "f");
    EXPECT_EQ(call(session_, "release_lease", old), "f");
    EXPECT_EQ(database().value("SELECT taken_over FROM leases"), "t");
}

TEST_F(InboxLeaseTest, WhereTheOtherSideHonoursNoKeysItIsUnknownInstead) {
    lease(session_, "a", "hold => '1 ms'");
    ASSERT_TRUE(eventually(
        10s, [&] { return lease(other_, "a", "honours_key => false")[0] == "unknown"; }));
    EXPECT_EQ(database().number("SELECT attempts FROM leases"), 1);
}

TEST_F(InboxLeaseTest, OneThatIsGivenBackIsAnybodysAtOnce) {
    const Row held = lease(session_, "a");
    EXPECT_EQ(call(session_, "release_lease", held), "t");
    EXPECT_EQ(lease(other_, "a", "honours_key => false")[0], "fresh");
}

TEST_F(InboxLeaseTest, ItCanBeHeldForLonger) {
    const Row held = lease(session_, "a", "hold => '1 s'");
    EXPECT_EQ(call(session_, "extend_lease", held, "'1 hour'"), "t");
    EXPECT_EQ(database().value("SELECT lease_until > clock_timestamp() + interval '50 minutes' "
                               "FROM leases"),
              "t");
}

TEST_F(InboxLeaseTest, ALedgerWithoutResultsStillKnowsTheStatus) {
    session_.database.execute("SELECT register_ledger('bare', 'lease', stores_results => false)");
    const Row held = lease(session_, "a", "ledger => 'bare'");
    EXPECT_EQ(call(session_, "end_lease", held, "201, ledger => 'bare'"), "t");
    EXPECT_EQ(session_.database.value(
                  "SELECT outcome || status FROM lease('charge', '', 'id', 'a', ledger => 'bare')"),
              "duplicate201");
}

TEST_F(InboxLeaseTest, AnotherFingerprintIsAConflict) {
    lease(session_, "a", "fingerprint('1')");
    EXPECT_EQ(lease(session_, "a", "fingerprint('2')")[0], "conflict");
}

// A call that is made before its lease is on disk would be made again after a crash.
TEST_F(InboxLeaseTest, ItsCommitIsSynchronousWhateverTheSessionHas) {
    session_.database.execute("SET synchronous_commit = off");
    session_.begin();
    lease(session_, "a");
    EXPECT_EQ(session_.database.value("SHOW synchronous_commit"), "on");
    session_.commit();
}

}  // namespace
}  // namespace onceward::support
