// The log store against a real server: what others commit while a batch is under way, what is taken
// away, and each danger line of its design.

#include <future>

#include "tests/integration/dedup/claims/log_store_fixture.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

TEST_F(LogStoreTest, AKeyIsFreshOnceInEveryProcessAndAcrossRotations) {
    Session one = session(), two = session();
    EXPECT_EQ(one.verdict("k"), Verdict::fresh);
    EXPECT_EQ(one.verdict("k"), Verdict::duplicate);
    EXPECT_EQ(two.verdict("k"), Verdict::duplicate);
    for (int rotation = 0; rotation < 3; ++rotation) {
        rotate();
        EXPECT_EQ(one.verdict("k"), Verdict::duplicate);
        EXPECT_EQ(two.verdict("j" + std::to_string(rotation)), Verdict::fresh);
        EXPECT_EQ(one.verdict("j" + std::to_string(rotation)), Verdict::duplicate);
    }
    Session late = session();
    EXPECT_EQ(late.verdict("k"), Verdict::duplicate);
    EXPECT_EQ(late.verdict("j2"), Verdict::duplicate);
    EXPECT_EQ(late.verdict("j3"), Verdict::fresh);
    EXPECT_EQ(database().number("SELECT count(*) FROM claims_1_1"), 1);
}

TEST_F(LogStoreTest, AnotherFingerprintIsAConflictInEveryProcess) {
    Session one = session(), two = session();
    const Digest first = digest_of_bytes("1"), second = digest_of_bytes("2");
    EXPECT_EQ(one.ask(claim_of("k", first)).verdict, Verdict::fresh);
    for (Session* each : {&one, &two}) {
        EXPECT_EQ(each->ask(claim_of("k", second)).verdict, Verdict::conflict);
        EXPECT_EQ(each->ask(claim_of("k", first)).verdict, Verdict::duplicate);
        EXPECT_EQ(each->ask(claim_of("k")).fingerprint, first);
    }
}

TEST_F(LogStoreTest, ARolledBackClaimIsFreshAgain) {
    Session one = session();
    one.begin(claim_of("k"));
    EXPECT_EQ(one.settle(), Settlement::settled);
    one.open.reset();
    EXPECT_EQ(one.verdict("k"), Verdict::fresh);
}

// Looked for in the statement of the lock, the neighbour's batch would not be there: that snapshot
// is older than the lock.
TEST_F(LogStoreTest, ABatchThatWasWaitedForIsSeen) {
    Session first = session("first"), second = session("second");
    EXPECT_EQ(first.begin(claim_of("k")).verdict, Verdict::fresh);
    ASSERT_EQ(first.settle(), Settlement::settled);
    EXPECT_EQ(second.begin(claim_of("k")).verdict, Verdict::fresh) << "presumed";
    std::future<Settlement> settled =
        std::async(std::launch::async, [&] { return second.settle(); });
    ASSERT_TRUE(eventually(10s, [&] { return waits_for_lock("second"); }));
    first.commit();
    EXPECT_EQ(settled.get(), Settlement::again);
    second.open.reset();
    EXPECT_EQ(second.verdict("k"), Verdict::duplicate);
    EXPECT_EQ(database().number("SELECT count(*) FROM claims_1_1"), 1);
}

// A neighbour's batch may come into the shared window after mine was looked up, and then it is
// below `last`: no look at the log finds it.
TEST_F(LogStoreTest, WhatANeighbourPutIntoTheSharedWindowMeanwhileIsSeen) {
    windows_ = std::make_shared<LogWindows>();
    Session one = session(), two = session();
    EXPECT_EQ(two.begin(claim_of("k")).verdict, Verdict::fresh);
    EXPECT_EQ(one.verdict("k"), Verdict::fresh);
    ASSERT_EQ(one.store.window(), two.store.window());
    EXPECT_EQ(two.settle(), Settlement::again);
    two.open.reset();
    EXPECT_EQ(two.verdict("k"), Verdict::duplicate);
}

// Without it the second one writes its rows, finds out at its end, and writes all of them again.
TEST_F(LogStoreTest, AKeyUnderWayInANeighbourIsADuplicateWithoutARedo) {
    windows_ = std::make_shared<LogWindows>();
    Session one = session(), two = session();
    EXPECT_EQ(one.begin(claim_of("k", digest_of_bytes("1"))).verdict, Verdict::fresh);
    EXPECT_EQ(two.begin(claim_of("k", digest_of_bytes("1"))).verdict, Verdict::duplicate);
    ASSERT_EQ(one.settle(), Settlement::settled);
    std::future<Settlement> settled = std::async(std::launch::async, [&] { return two.settle(); });
    one.commit();
    EXPECT_EQ(settled.get(), Settlement::settled);
    two.commit();
    EXPECT_EQ(database().number("SELECT count(*) FROM claims_1_1"), 1);
}

// A conflict may halt a topic and names the first message's place: it is told of what is committed.
TEST_F(LogStoreTest, AKeyUnderWayWithAnotherFingerprintIsAConflictOnceItIsCommitted) {
    windows_ = std::make_shared<LogWindows>();
    Session one = session(), two = session();
    const Claim other = claim_of("k", digest_of_bytes("2"));
    EXPECT_EQ(one.begin(claim_of("k", digest_of_bytes("1"))).verdict, Verdict::fresh);
    EXPECT_EQ(two.begin(other).verdict, Verdict::fresh) << "presumed";
    ASSERT_EQ(one.settle(), Settlement::settled);
    one.commit();
    EXPECT_EQ(two.settle(), Settlement::again);
    two.open.reset();
    EXPECT_EQ(two.begin(other).verdict, Verdict::conflict);
    const auto places = two.store.places(*two.open, {&other, 1});
    ASSERT_EQ(places.size(), 1U);
    ASSERT_EQ(places[0].size(), 1U);
    EXPECT_EQ(places[0][0].topic, "topic");
    EXPECT_EQ(two.settle(), Settlement::settled);
    two.commit();
    EXPECT_EQ(database().number("SELECT count(*) FROM claims_1_1"), 1);
}

// DANGER: taken for a duplicate all the same, the message is lost.
TEST_F(LogStoreTest, AKeyThatANeighbourRolledBackIsFreshInTheNextTry) {
    windows_ = std::make_shared<LogWindows>();
    Session one = session(), two = session();
    one.begin(claim_of("k"));
    EXPECT_EQ(two.begin(claim_of("k")).verdict, Verdict::duplicate);
    ASSERT_EQ(one.settle(), Settlement::settled);
    one.open.reset();
    one.store.ended();
    EXPECT_EQ(two.settle(), Settlement::again);
    two.open.reset();
    EXPECT_EQ(two.verdict("k"), Verdict::fresh);
    EXPECT_EQ(one.verdict("k"), Verdict::duplicate);
}

// The neighbour may want a row that this one's transaction has locked.
TEST_F(LogStoreTest, ANeighbourThatDoesNotEndIsNotWaitedForForEver) {
    windows_ = std::make_shared<LogWindows>();
    Session one = session(), two = session();
    one.begin(claim_of("k"));
    EXPECT_EQ(two.begin(claim_of("k")).verdict, Verdict::duplicate);
    EXPECT_EQ(two.settle(), Settlement::again);
    two.open.reset();
    EXPECT_EQ(two.verdict("k"), Verdict::fresh);
    EXPECT_EQ(one.settle(), Settlement::again);
}

TEST_F(LogStoreTest, OtherKeysOfOthersAskForNoRedo) {
    Session one = session(), two = session();
    EXPECT_EQ(two.begin(claim_of("mine")).verdict, Verdict::fresh);
    for (int i = 0; i < 5; ++i) one.verdict("k" + std::to_string(i));
    EXPECT_EQ(two.settle(), Settlement::settled);
    two.commit();
    EXPECT_EQ(two.verdict("k3"), Verdict::duplicate);
    EXPECT_EQ(two.redone, 0);
}

// Others commit more batches than are read under the lock, again and again.
TEST_F(LogStoreTest, AWorkerThatOthersOvertakeManyTimesIsNotStarved) {
    Session busy = session(), slow = session();
    int made = 0;
    int redone = 0;
    while (true) {
        EXPECT_EQ(slow.begin(claim_of("slow")).verdict, Verdict::fresh);
        for (int i = 0; i < 100; ++i) busy.verdict("k" + std::to_string(made++));
        if (slow.settle() == Settlement::settled) break;
        slow.open.reset();
        ASSERT_LT(++redone, 4);
    }
    slow.commit();
    EXPECT_EQ(slow.verdict("k" + std::to_string(made - 1)), Verdict::duplicate);
}

TEST_F(LogStoreTest, ARotationThatWasWaitedForIsSeen) {
    Session one = session("claimer");
    one.verdict("before");
    database().execute("BEGIN; SELECT rotate_ledger(1, 1)");
    std::future<Verdict> answer = std::async(std::launch::async, [&] { return one.verdict("k"); });
    ASSERT_TRUE(eventually(10s, [&] { return waits_for_lock("claimer"); }));
    database().execute("COMMIT");
    EXPECT_EQ(answer.get(), Verdict::fresh);
    EXPECT_EQ(database().number("SELECT count(*) FROM claims_1_1"), 1);
    EXPECT_EQ(database().number("SELECT count(*) FROM claims_1_2"), 1);
}

TEST_F(LogStoreTest, SeqGoesOnThroughGenerationsAndIsNeverHandedOutAhead) {
    Session one = session(), two = session();
    std::int64_t before = 0;
    for (int generation = 1; generation < 4; ++generation) {
        for (Session* each : {&one, &two, &one}) {
            each->verdict("k" + std::to_string(++before));
        }
        rotate();
        rotate();  // an empty one between
    }
    std::string all;
    for (const Row& row : database().execute("SELECT generation FROM generations")) {
        const std::string table = "claims_1_" + *row[0];
        all += (all.empty() ? "" : " UNION ALL ") + std::string("SELECT seq, claimed_at FROM ") +
               table;
        EXPECT_EQ(database().number("SELECT seqcache FROM pg_sequence WHERE seqrelid = "
                                    "pg_get_serial_sequence('" +
                                    table + "', 'seq')::regclass"),
                  1);
    }
    EXPECT_EQ(database().number("SELECT count(DISTINCT seq) FROM (" + all + ") AS a"), 9);
    EXPECT_EQ(database().number("SELECT count(*) FROM (SELECT claimed_at < lag(claimed_at) OVER "
                                "(ORDER BY seq) AS back FROM (" +
                                all + ") AS a) AS b WHERE back"),
              0);
}

// What was dropped below a reader cannot be found by `seq > last`.
TEST_F(LogStoreTest, AFloorAboveWhatWasReadMakesItReadAnew) {
    Session one = session(), two = session();
    EXPECT_EQ(one.begin(claim_of("k")).verdict, Verdict::fresh);
    const LogWindow* before = one.store.window();
    two.verdict("other");
    rotate();
    two.verdict("k");
    database().execute(
        "DELETE FROM generations WHERE generation = 1; DROP TABLE claims_1_1; UPDATE ledgers SET "
        "log_floor = 1");
    EXPECT_THROW(one.settle(), PostgresError) << "its generation is gone: 40001";
    one.open.reset();
    EXPECT_EQ(one.verdict("k"), Verdict::duplicate);
    EXPECT_NE(one.store.window(), before);
}

TEST_F(LogStoreTest, AnEvictedKeyIsFreshAgain) {
    Session one = session(), two = session();
    one.verdict("k");
    two.verdict("k");
    const auto evict = [&] {
        database().execute(
            "BEGIN; SELECT pg_advisory_xact_lock(1330524999, 1); UPDATE claims_1_1 SET digests = "
            "''; UPDATE ledgers SET evictions = evictions + 1; COMMIT");
    };
    // Known as a duplicate before it was evicted, and not settled yet.
    EXPECT_EQ(one.begin(claim_of("k")).verdict, Verdict::duplicate);
    evict();
    EXPECT_EQ(one.settle(), Settlement::again);
    one.open.reset();
    EXPECT_EQ(one.verdict("k"), Verdict::fresh);
    EXPECT_EQ(two.verdict("k"), Verdict::duplicate);
}

TEST_F(LogStoreTest, ADuplicateNeedsNoLock) {
    Session one = session();
    one.verdict("k");
    Database holder(schema_.server().dsn);
    holder.execute("BEGIN; SELECT pg_advisory_xact_lock(1330524999, 1)");
    one.begin(claim_of("k"));
    one.connection.execute("SET LOCAL lock_timeout = '1s'");
    EXPECT_EQ(one.settle(), Settlement::settled);
}

// Tools of the user's own take bare numbers and classes of theirs.
TEST_F(LogStoreTest, TheLocksOfOthersAreNotMet) {
    Session one = session();
    Database holder(schema_.server().dsn);
    holder.execute(
        "SELECT pg_advisory_lock(1); SELECT pg_advisory_lock(0, 1); SELECT pg_advisory_lock(1, 0)");
    one.connection.execute("SET statement_timeout = '10s'");
    EXPECT_EQ(one.verdict("k"), Verdict::fresh);
}

TEST_F(LogStoreTest, NobodyGoesOnWithTheWindowOfALostSession) {
    windows_ = std::make_shared<LogWindows>();
    Session one = session(), two = session();
    one.verdict("k");
    two.verdict("j");
    const LogWindow* before = two.store.window();
    ASSERT_EQ(one.store.window(), before);
    one.store.connection_lost();
    two.verdict("k");
    EXPECT_NE(two.store.window(), before);
    one.verdict("j");
    EXPECT_EQ(one.store.window(), two.store.window());
}

// A commit that the fail-over took back must not come into the window that was read after it.
TEST_F(LogStoreTest, WhatIsCommittedBehindALostNeighbourStaysOutOfTheNewWindow) {
    windows_ = std::make_shared<LogWindows>();
    Session one = session(), two = session();
    one.verdict("k");
    two.begin(claim_of("late"));
    ASSERT_EQ(two.settle(), Settlement::settled);
    one.store.connection_lost();
    one.verdict("k");
    two.open->commit();
    database().execute("DELETE FROM claims_1_1 WHERE seq = 2");  // the fail-over lost it
    two.store.committed();
    const Digest late[] = {scripted_digest("late")};
    EXPECT_FALSE(one.store.window()->knows_any(late, 0));
}

// A savepoint's end, an EXCEPTION block's too, would give the lock back, and a function that is not
// VOLATILE would look with the snapshot from before it.
TEST_F(LogStoreTest, FunctionsThatLockAreVolatileAndCatchNothing) {
    const std::string locking = "SELECT count(*) FROM pg_proc WHERE pronamespace = '" +
                                schema_.name() + "'::regnamespace AND prosrc ~ 'pg_advisory' ";
    EXPECT_GE(database().number(locking), 2);
    EXPECT_EQ(database().number(locking + "AND (provolatile <> 'v' OR prosrc ~* "
                                          "'savepoint|exception\\s+when')"),
              0);
}

}  // namespace
}  // namespace onceward::support
