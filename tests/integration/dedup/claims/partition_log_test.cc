// The log store with `reach: partition`: the fence keeps a partition's claims to one worker.

#include <future>

#include "tests/integration/dedup/claims/partition_stores.h"
#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

class PartitionLogTest : public CoreTest {
  protected:
    PartitionLogTest() {
        store_ = StoreKind::log;
        reach_ = Reach::partition;
    }
    // For tests without a worker.
    static RegisteredLedger registered(Connection& connection) {
        const LedgerOptions ledger{
            .name = "ledger", .store = StoreKind::log, .reach = Reach::partition};
        return register_ledger(connection, ledger, "group", "topic");
    }
    // As the processor claims it, until it is settled.
    static Verdict claim(PartitionLogStore& store, Connection& connection, const std::string& key) {
        const Claim wanted = claim_of(key);
        while (true) {
            store.catch_up(connection);
            OwnedTransaction transaction(connection);
            const Verdict verdict = store.claim(transaction, {&wanted, 1})->at(0).verdict;
            if (store.settle(transaction) == Settlement::again) continue;
            transaction.commit();
            store.committed();
            return verdict;
        }
    }
};

// Each key twice, in its own partition.
void append_twice(ScriptedLog& log, int keys) {
    for (int partition = 0; partition < log.partitions(); ++partition) {
        const std::string prefix = std::to_string(partition) + "-";
        for (int round = 0; round < 2; ++round) append_keys(log, partition, prefix, keys);
    }
}

TEST_F(PartitionLogTest, ADuplicateIsFoundInItsPartitionAndARowIsWrittenForEach) {
    ScriptedLog log(3);
    append_twice(log, 100);
    CoreWorkerOptions mine = options();
    mine.batch_messages = 90;
    CoreWorker worker(log, sink_, mine);
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(worker.totals.duplicates, 300);
    EXPECT_EQ(database().number("SELECT count(*) FROM claims_1_1 WHERE "
                                "cardinality(partitions) <> 1"),
              0);
    expect_no_violations(log);
}

TEST_F(PartitionLogTest, AConflictIsFoundInItsPartitionAndNamesItsBatch) {
    ScriptedLog log(2);
    append_keys(log, 0, "before", 1);
    log.append(0, {.key = "key", .fingerprint = digest_of_bytes("1")});
    log.append(0, {.key = "key", .fingerprint = digest_of_bytes("2")});
    log.append(1, {.key = "key", .fingerprint = digest_of_bytes("3")});
    CoreWorkerOptions two = options();
    two.batch_messages = 2;
    two.partitions = {0};
    CoreWorker worker(log, sink_, two);
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(worker.totals, (Totals{.applied = 2, .conflicts = 1}));
    EXPECT_EQ(database().value("SELECT first_places FROM dead_letters"),
              R"([{"group": "group", "topic": "topic", "offset": 0, "partition": 0, )"
              R"("last_offset": 1}])");
}

TEST_F(PartitionLogTest, ANewOwnerKnowsWhatTheOldOneClaimed) {
    ScriptedLog log(1);
    append_twice(log, 100);
    CoreWorkerOptions small = options("first");
    small.batch_messages = 100;
    {
        CoreWorker first(log, sink_, small);
        ASSERT_TRUE(first.step());
    }
    database().execute("SELECT rotate_ledger(1, 1)");
    CoreWorker second(log, sink_, options("second"));
    ASSERT_TRUE(second.run());
    EXPECT_EQ(second.totals.duplicates, 100);
    expect_no_violations(log);
}

// The old owner's last batch is committed while the take-over waits for its row: read before that,
// the window would not have it.
TEST_F(PartitionLogTest, TheOldOwnersLastBatchIsInTheWindow) {
    ScriptedLog log(1);
    append_twice(log, 100);
    CoreWorkerOptions slow = options("first");
    slow.batch_messages = 100;
    CoreWorker second(log, sink_, options("second"));
    second.connect();
    std::future<void> taking;
    StepHook hook([&](Step step) {
        if (step != Step::before_commit || taking.valid()) return;
        taking = std::async(std::launch::async, [&] { second.take_fences(); });
        EXPECT_TRUE(eventually(10s, [&] { return waits_for_lock("second"); }));
    });
    slow.observer = &hook;
    CoreWorker first(log, sink_, slow);
    ASSERT_TRUE(first.step());
    taking.get();
    ASSERT_TRUE(second.run());
    EXPECT_EQ(second.totals.duplicates, 100);
    expect_no_violations(log);
}

TEST_F(PartitionLogTest, AppendsOfTwoPartitionsDoNotWaitForEachOther) {
    ScriptedLog log(2);
    append_twice(log, 10);
    CoreWorkerOptions one = options("one"), two = options("two");
    one.partitions = {0};
    two.partitions = {1};
    bool met = false;
    StepHook hook([&](Step step) {
        if (step != Step::before_commit || std::exchange(met, true)) return;
        CoreWorker other(log, sink_, two);
        EXPECT_TRUE(other.run());
        EXPECT_EQ(other.totals.applied, 10);
    });
    one.observer = &hook;
    CoreWorker worker(log, sink_, one);
    ASSERT_TRUE(worker.run());
    EXPECT_TRUE(met);
    expect_no_violations(log);
}

// A boundary in the log is chosen with the appends held up, so that none of them is after it.
TEST_F(PartitionLogTest, ARotationWaitsForTheAppendsUnderWay) {
    ScriptedLog log(1);
    append_twice(log, 10);
    std::future<void> rotation;
    StepHook hook([&](Step step) {
        if (step != Step::before_commit || rotation.valid()) return;
        rotation = std::async(std::launch::async, [&] {
            Connection(named("rotator")).query("SELECT {schema}.rotate_ledger(1, 1)", {});
        });
        EXPECT_TRUE(eventually(10s, [&] { return waits_for_lock("rotator"); }));
    });
    CoreWorkerOptions mine = options();
    mine.batch_messages = 5;
    mine.observer = &hook;
    CoreWorker worker(log, sink_, mine);
    ASSERT_TRUE(worker.run());
    rotation.get();
    EXPECT_EQ(database().number("SELECT count(*) FROM claims_1_1"), 1);
    EXPECT_EQ(database().number("SELECT count(*) FROM claims_1_2"), 1);
    expect_no_violations(log);
}

TEST_F(PartitionLogTest, APartitionThatWasNeverTakenIsNotClaimedFrom) {
    PartitionLogStore store(1, 1, std::make_shared<LogWindows>());
    Connection connection(schema_.worker());
    OwnedTransaction transaction(connection);
    const Claim claim = claim_of("k");
    EXPECT_THROW(store.claim(transaction, {&claim, 1}), std::logic_error);
}

// Its part would not be opened again: the key would be applied, and claimed by nobody.
TEST_F(PartitionLogTest, ABatchThatWasGivenUpLeavesNothingToTheNextOne) {
    Connection connection(schema_.worker());
    const RegisteredLedger mine = registered(connection);
    PartitionLogStore store = store_of(connection, mine);
    const Claim claim = claim_of("k");
    {
        OwnedTransaction given_up(connection);
        store.claim(given_up, {&claim, 1});
    }
    take(store, connection, 1);
    for (const Verdict verdict : {Verdict::fresh, Verdict::duplicate}) {
        OwnedTransaction transaction(connection);
        EXPECT_EQ(store.claim(transaction, {&claim, 1})->at(0).verdict, verdict);
        EXPECT_EQ(store.settle(transaction), Settlement::settled);
        transaction.commit();
        store.committed();
    }
    EXPECT_EQ(database().number("SELECT count(*) FROM claims_1_1"), 1);
}

// Partitions that were not read again yet would be claimed from without a window.
TEST_F(PartitionLogTest, AReadingThatFailsIsTriedAgainForAllPartitions) {
    Connection connection(schema_.worker());
    const RegisteredLedger mine = registered(connection);
    PartitionLogStore store(mine.ledger, mine.source, std::make_shared<LogWindows>());
    const TopicPartition both[] = {{"topic", Partition{0}}, {"topic", Partition{1}}};
    store.partitions_taken(connection, both);
    const Claim claims[] = {claim_of("k"), claim_of("l", {}, 1)};
    database().execute("UPDATE ledgers SET evictions = evictions + 1");
    {
        OwnedTransaction transaction(connection);
        store.claim(transaction, claims);
        EXPECT_EQ(store.settle(transaction), Settlement::again);
    }
    database().execute("ALTER TABLE claims_1_1 RENAME TO away");
    EXPECT_THROW(store.catch_up(connection), PostgresError);
    database().execute("ALTER TABLE away RENAME TO claims_1_1");
    store.catch_up(connection);
    OwnedTransaction transaction(connection);
    store.claim(transaction, claims);
    EXPECT_EQ(store.settle(transaction), Settlement::settled);
    transaction.commit();
    store.committed();
}

// DANGER: a claim in a sealed generation is not in its segment, and is dropped with its log.
TEST_F(PartitionLogTest, ARotationThatWasWaitedForIsSeen) {
    Connection connection(named("claimer"));
    PartitionLogStore store = store_of(connection, registered(connection));
    const Claim wanted = claim_of("k");
    database().execute("BEGIN; SELECT rotate_ledger(1, 1)");
    OwnedTransaction transaction(connection);
    store.claim(transaction, {&wanted, 1});
    auto settled = std::async(std::launch::async, [&] { return store.settle(transaction); });
    EXPECT_TRUE(eventually(10s, [&] { return waits_for_lock("claimer"); }));
    database().execute("COMMIT");
    EXPECT_EQ(settled.get(), Settlement::again);
}

TEST_F(PartitionLogTest, OnceTheReachIsGlobalNothingIsClaimedForAPartitionAlone) {
    Connection connection(schema_.worker()), other(schema_.worker());
    PartitionLogStore store = store_of(connection, registered(connection));
    register_ledger(other, {.name = "ledger", .store = StoreKind::log}, "group", "topic");
    const Claim wanted = claim_of("k");
    OwnedTransaction transaction(connection);
    store.claim(transaction, {&wanted, 1});
    EXPECT_THAT([&] { store.settle(transaction); },
                testing::ThrowsMessage<std::runtime_error>(testing::HasSubstr("reach is global")));
}

TEST_F(PartitionLogTest, AnEvictionIsNoticedThoughAnotherPartitionWasTakenSince) {
    Connection connection(schema_.worker());
    PartitionLogStore store = store_of(connection, registered(connection));
    EXPECT_EQ(claim(store, connection, "k"), Verdict::fresh);
    EXPECT_EQ(take_out("k"), 1);
    take(store, connection, 1);
    EXPECT_EQ(claim(store, connection, "k"), Verdict::fresh);
}

TEST_F(PartitionLogTest, ALogOfSeveralPagesIsReadWhole) {
    constexpr std::size_t more_than_a_page = 70;
    Connection connection(schema_.worker());
    const RegisteredLedger mine = registered(connection);
    PartitionLogStore store = store_of(connection, mine);
    for (std::size_t i = 0; i < more_than_a_page; ++i) {
        claim(store, connection, "k" + std::to_string(i));
    }
    EXPECT_EQ(store_of(connection, mine).window(Partition{0}).size(), more_than_a_page);
}

// The log of a partition is read when it is taken over, and not again.
TEST_F(PartitionLogTest, WhatHasExpiredIsForgotten) {
    Connection connection(schema_.worker());
    PartitionLogStore store = store_of(connection, registered(connection));
    claim(store, connection, "k");
    rotate();
    claim(store, connection, "j");
    drop_first_generation();
    claim(store, connection, "l");
    EXPECT_EQ(store.window(Partition{0}).size(), 2U);
}

}  // namespace
}  // namespace onceward::support
