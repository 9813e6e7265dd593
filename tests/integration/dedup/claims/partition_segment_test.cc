// Segments of a log with `reach: partition`: a part for each partition, the same verdicts as from
// the log, and a worker that remembers its own partitions alone.

#include "dedup/claims/log/log_store.h"
#include "dedup/ledger/ledger.h"
#include "dedup/operator/interventions.h"
#include "dedup/retention/merging.h"
#include "dedup/retention/retention.h"
#include "dedup/retention/sealing.h"
#include "schemas/queries.h"
#include "tests/integration/dedup/claims/partition_stores.h"
#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

class PartitionSegmentTest : public SealingTest {
  protected:
    PartitionSegmentTest() : SealingTest(Reach::partition) {}
    // The keys from `first` on, to that partition; how many of them were fresh.
    std::int64_t apply(CoreWorker& worker, int partition, int first, int count) {
        const std::int64_t before = worker.totals.applied;
        for (int i = 0; i < count; ++i) {
            const std::string key = "k" + std::to_string(first + i);
            log_.append(partition, {.key = key, .fingerprint = digest_of_bytes(key)});
        }
        EXPECT_TRUE(worker.run());
        return worker.totals.applied - before;
    }
    Verdict claim(PartitionLogStore& store, int partition, const std::string& key) {
        const Claim wanted = claim_of(key, {}, partition);
        OwnedTransaction transaction(leader_);
        const Verdict verdict = store.claim(transaction, {&wanted, 1})->at(0).verdict;
        EXPECT_EQ(store.settle(transaction), Settlement::settled);
        transaction.commit();
        store.committed();
        return verdict;
    }

    ScriptedLog log_{3};
};

TEST_F(PartitionSegmentTest, ASealedGenerationGivesTheSameVerdicts) {
    CoreWorker worker(log_, sink_, in_batches("before"));
    EXPECT_EQ(apply(worker, 0, 0, 2000), 2000);
    EXPECT_EQ(apply(worker, 1, 0, 900), 900) << "the same keys in another partition";
    seal();
    EXPECT_EQ(database().value("SELECT string_agg(concat_ws('/', part, partition, claims, "
                               "shard_bits, first_filter), ' ' ORDER BY part) FROM segment_parts"),
              "1/0/2000/2/1 2/1/900/1/5");
    EXPECT_EQ(database().number("SELECT count(*) FROM filters_1_1"), 6);
    // A worker that knew them one by one, and one that reads filters.
    CoreWorker late(log_, sink_, in_batches("late"));
    for (CoreWorker* asked : {&worker, &late}) {
        EXPECT_EQ(apply(*asked, 0, 0, 2000), 0);
        EXPECT_EQ(apply(*asked, 1, 0, 900), 0);
        EXPECT_EQ(asked->totals.conflicts, 0);
        log_.append(1, {.key = "k7", .fingerprint = digest_of_bytes("another")});
        ASSERT_TRUE(asked->run());
        EXPECT_EQ(asked->totals.conflicts, 1);
    }
    // It names its own partition only.
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters WHERE first_places = "
                                R"('[{"group": "group", "topic": "topic", "partition": 1, )"
                                R"("offset": 0, "last_offset": 99}]')"),
              2);
    EXPECT_EQ(apply(late, 1, 900, 1000), 1000) << "partition 0 alone had those";
    EXPECT_EQ(apply(late, 2, 0, 2000), 2000) << "that partition had none";
    log_.append(2, {.key = "k7", .fingerprint = digest_of_bytes("k7")});
    ASSERT_TRUE(late.run());
    EXPECT_EQ(late.totals.conflicts, 1);
}

// A key in more partitions than a block has room for: each of them is asked for its own.
TEST_F(PartitionSegmentTest, ManyPartitionsMayHoldTheSameKey) {
    const int partitions = static_cast<int>(block_digests) + 10;
    PartitionLogStore store(registered_.ledger, registered_.source, std::make_shared<LogWindows>());
    for (int partition = 0; partition < partitions; ++partition) {
        const TopicPartition taken{"topic", Partition{partition}};
        store.partitions_taken(leader_, {&taken, 1});
        EXPECT_EQ(claim(store, partition, "k"), Verdict::fresh);
    }
    seal();
    EXPECT_EQ(database().number("SELECT sum(claims) FROM segment_parts"), partitions);
    for (const int partition : {0, partitions - 1}) {
        PartitionLogStore late = store_of(leader_, registered_, partition);
        EXPECT_EQ(claim(late, partition, "k"), Verdict::duplicate);
        EXPECT_EQ(claim(late, partition, "other"), Verdict::fresh);
    }
}

TEST_F(PartitionSegmentTest, AWorkerRemembersFiltersOfItsOwnPartitionsAlone) {
    CoreWorker worker(log_, sink_, options());
    apply(worker, 0, 0, 20'000);
    apply(worker, 1, 0, 50'000);
    seal({});
    PartitionLogStore store = store_of(leader_, registered_);
    EXPECT_EQ(store.window(Partition{0}).size(), 20'000U);
    std::cout << static_cast<double>(store.window(Partition{0}).bytes()) / 20'000
              << " bytes a claim\n";
    EXPECT_LE(store.window(Partition{0}).bytes(), 20'000U * 25 / 10);
    PartitionLogStore none = store_of(leader_, registered_, 2);
    EXPECT_EQ(none.window(Partition{2}).bytes(), 0U);
}

// Also: its next batch goes into the generation that is current by then, not into a table that is
// gone.
TEST_F(PartitionSegmentTest, AWorkerThatKnowsTheDigestsGoesOverToTheFilters) {
    CoreWorker worker(log_, sink_, options());
    apply(worker, 0, 0, 5000);
    PartitionLogStore store = store_of(leader_, registered_);
    LogWindow& window = store.window(Partition{0});
    const std::size_t before = window.bytes();
    seal();
    store.catch_up(leader_);
    EXPECT_EQ(window.bytes(), before) << "it was asked a moment ago";
    window.next_segments_look = LogWindow::Clock::time_point{};
    store.catch_up(leader_);
    EXPECT_LE(window.bytes(), before / 5);
    EXPECT_EQ(window.size(), 5000U);
    EXPECT_EQ(claim(store, 0, "k4999"), Verdict::duplicate);
    EXPECT_EQ(claim(store, 0, "new"), Verdict::fresh);
    EXPECT_EQ(claim(store, 0, "new"), Verdict::duplicate);
}

// Each call looks for one window. The first ones may be due again before the last one has its turn.
TEST_F(PartitionSegmentTest, EachWindowGoesOverToTheFiltersInItsTurn) {
    CoreWorker worker(log_, sink_, options());
    apply(worker, 0, 0, 100);
    apply(worker, 1, 0, 100);
    PartitionLogStore store = store_of(leader_, registered_);
    take(store, leader_, 1);
    seal();
    for (const int partition : {0, 1}) {
        store.window(Partition{partition}).next_segments_look = LogWindow::Clock::time_point{};
    }
    store.catch_up(leader_);
    ASSERT_TRUE(store.window(Partition{0}).has_segment(1, 0));
    EXPECT_FALSE(store.window(Partition{1}).has_segment(1, 0));
    store.window(Partition{0}).next_segments_look = LogWindow::Clock::now();
    store.catch_up(leader_);
    EXPECT_TRUE(store.window(Partition{1}).has_segment(1, 0));
}

// Otherwise the first partition would have the whole room, and the others would look up each claim.
TEST_F(PartitionSegmentTest, TheFiltersOfTheNewestSegmentAreReadFirstForAllPartitions) {
    CoreWorker worker(log_, sink_, options());
    for (const int first : {0, 100}) {
        for (const int partition : {0, 1}) apply(worker, partition, first, 100);
        seal({});
    }
    const auto store_with = [&](const std::shared_ptr<LogWindows>& windows) {
        PartitionLogStore store(registered_.ledger, registered_.source, windows);
        for (const int partition : {0, 1}) take(store, leader_, partition);
        return store;
    };
    const auto all = std::make_shared<LogWindows>();
    PartitionLogStore whole = store_with(all);
    ASSERT_TRUE(eventually(10s, [&] {
        whole.catch_up(leader_);
        return !whole.window(Partition{0}).missing_filter() &&
               !whole.window(Partition{1}).missing_filter();
    }));
    const auto two = std::make_shared<LogWindows>(all->bytes() / 2);
    PartitionLogStore store = store_with(two);
    ASSERT_TRUE(eventually(10s, [&] {
        store.catch_up(leader_);
        return two->bytes() >= two->limit() - two->limit() / 8;
    }));
    for (const int partition : {0, 1}) {
        ASSERT_TRUE(store.window(Partition{partition}).missing_filter());
        EXPECT_EQ(store.window(Partition{partition}).missing_filter()->generation, 1);
    }
}

// A worker that did not read for long finds its log gone, and reads again.
TEST_F(PartitionSegmentTest, ABatchForALogThatIsGoneIsDoneAnew) {
    CoreWorker worker(log_, sink_, options());
    EXPECT_EQ(apply(worker, 0, 0, 10), 10);
    seal();
    EXPECT_EQ(apply(worker, 0, 5, 10), 5);
    EXPECT_EQ(worker.failures["40001"], 1);
    expect_no_violations(log_);
}

// Reading all windows again would hold up all partitions of the worker.
TEST_F(PartitionSegmentTest, ADroppedSegmentIsForgottenWithoutReadingTheWindowsAgain) {
    CoreWorker worker(log_, sink_, options());
    apply(worker, 0, 0, 10);
    seal();
    PartitionLogStore store = store_of(leader_, registered_);
    take(store, leader_, 1);
    EXPECT_EQ(claim(store, 1, "recent"), Verdict::fresh);
    // Only memory knows this claim from now on.
    ASSERT_EQ(database().number("WITH gone AS (DELETE FROM claims_1_2 RETURNING seq) SELECT "
                                "count(*) FROM gone"),
              1);
    drop_first_generation();
    EXPECT_THROW(claim(store, 0, "k3"), PostgresError);
    store.catch_up(leader_);
    EXPECT_EQ(claim(store, 0, "k3"), Verdict::fresh) << "it has expired";
    EXPECT_EQ(claim(store, 1, "recent"), Verdict::duplicate) << "its window was read again";
}

// The narrower reach is given up for good; what was sealed with it is still known.
TEST_F(PartitionSegmentTest, OnceTheReachIsGlobalEachPartIsAsked) {
    CoreWorker worker(log_, sink_, options());
    apply(worker, 0, 0, 1000);
    apply(worker, 1, 500, 1000);
    seal();
    apply(worker, 1, 1500, 100);
    ledger_.reach = reach_ = Reach::global;
    register_ledger(leader_, ledger_, "group", "topic");
    CoreWorker global(log_, sink_, options("global"));
    EXPECT_EQ(apply(global, 2, 0, 1700), 100);
    EXPECT_EQ(global.totals.conflicts, 0);
    rotate();
    EXPECT_TRUE(seal_oldest(leader_, registered_.ledger).sealed);
    EXPECT_EQ(database().value("SELECT string_agg(by_partition::text, ' ' ORDER BY generation) "
                               "FROM segments"),
              "true false");
    CoreWorker late(log_, sink_, options("late"));
    EXPECT_EQ(apply(late, 0, 0, 1800), 100);
    log_.append(2, {.key = "k700", .fingerprint = digest_of_bytes("another")});
    ASSERT_TRUE(late.run());
    EXPECT_EQ(late.totals.conflicts, 1);
    EXPECT_EQ(database().value("SELECT string_agg(place->>'partition', ' ') FROM dead_letters, "
                               "jsonb_array_elements(first_places) AS place"),
              "0 1");
}

// Logs of before that were sealed after the change are whole segments, and may be merged.
TEST_F(PartitionSegmentTest, AKeyOfTwoPartitionsIsOnceInWhatTheirSegmentsBecome) {
    CoreWorker worker(log_, sink_, options());
    EXPECT_EQ(apply(worker, 0, 0, 1000), 1000);
    rotate();
    EXPECT_EQ(apply(worker, 1, 500, 1000), 1000);
    rotate();
    ledger_.reach = reach_ = Reach::global;
    register_ledger(leader_, ledger_, "group", "topic");
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(seal_oldest(leader_, registered_.ledger, small_shards).sealed);
    }
    ASSERT_EQ(drop_sealed_logs(leader_, registered_.ledger), 2);
    const MergeReport report =
        Merger(leader_, registered_.ledger, small_shards).step({.fewest = 2}, 1h);
    EXPECT_TRUE(report.merged);
    EXPECT_EQ(report.claims, 1500);
    EXPECT_EQ(database().number("SELECT claims FROM segments"), 1500);
    CoreWorker late(log_, sink_, options("late"));
    EXPECT_EQ(apply(late, 2, 0, 1600), 100);
    EXPECT_EQ(late.totals.conflicts, 0);
}

TEST_F(PartitionSegmentTest, FiltersOfPartsAreCountedFromOne) {
    CoreWorker worker(log_, sink_, options());
    apply(worker, 0, 0, 10);
    seal();
    EXPECT_EQ(database().number("SELECT count(*) FROM filters_1_1"), 1);
    EXPECT_EQ(database().number("SELECT min(shard) FROM filters_1_1"), 1);
}

TEST_F(PartitionSegmentTest, WhatIsTakenOutMeanwhileMakesItWorthless) {
    CoreWorker worker(log_, sink_, options());
    apply(worker, 0, 0, 10);
    rotate();
    database().execute(
        "SELECT begin_segment_of_partitions(1, 1); UPDATE ledgers SET evictions = "
        "evictions + 1");
    EXPECT_EQ(database().value("SELECT publish_segment_of_partitions(1, 1, 0, '{1}', '{0}', "
                               "'{10}', '{0}', '{1}')"),
              "f");
    EXPECT_EQ(database().number("SELECT count(*) FROM segment_parts"), 0);
}

// Its rows may be of several partitions each, and a key may be in two of them.
TEST_F(PartitionSegmentTest, OfAGlobalLedgerNoPartsAreMade) {
    rotate();
    EXPECT_EQ(database().value("SELECT begin_segment_of_partitions(1, 1)"), "0");
    ledger_.reach = Reach::global;
    register_ledger(leader_, ledger_, "group", "topic");
    EXPECT_EQ(database().value("SELECT begin_segment_of_partitions(1, 1) IS NULL"), "t");
}

TEST_F(PartitionSegmentTest, AGenerationWithoutClaimsIsSealedToo) {
    seal();
    EXPECT_EQ(database().number("SELECT count(*) FROM segment_parts"), 0);
    CoreWorker worker(log_, sink_, options());
    EXPECT_EQ(apply(worker, 0, 0, 10), 10);
}

TEST_F(PartitionSegmentTest, ExplainFindsTheKeyInEachOfItsPartitions) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    apply(worker, 0, 0, 1000);
    apply(worker, 2, 0, 1000);
    seal();
    const QueryResult generations = leader_.query(sql::explain_generations, {});
    EXPECT_EQ(generations.text(0, 5), "parts");
    const std::vector<Digest> keys{scripted_digest("k3")};
    const QueryResult found =
        leader_.query(explain_statement(generations.text(0, 5)), Parameters{}.digests(keys),
                      {{"table", std::string(generations.text(0, 4))}});
    ASSERT_EQ(found.rows(), 2);
    EXPECT_EQ(found.text(0, 3), "topic");
    EXPECT_EQ(found.integer(0, 4), 0);
    EXPECT_EQ(found.integer(1, 4), 2);
    EXPECT_EQ(found.integer(0, 6), 99) << "the last of its batch";
    EXPECT_EQ(found.text(0, 7), uuid_text(digest_of_bytes("k3")));
}

TEST_F(PartitionSegmentTest, WhatExpiresIsForgottenAlsoByWhoRemembersItsFilters) {
    CoreWorker first(log_, sink_, options());
    apply(first, 0, 0, 10);
    seal();
    CoreWorker worker(log_, sink_, options("late"));
    EXPECT_EQ(apply(worker, 0, 0, 10), 0);
    database().execute(
        "UPDATE generations SET created_at = now() - interval '3 days', sealed_at = now() - "
        "interval '2 days' WHERE generation = 1; UPDATE fences SET watermark = now(); UPDATE "
        "ledger_feeds SET partitions = 3, watermark = now()");
    RetentionJob retention({schema_.worker(), {ledger_}, 20ms, 1s, {}});
    EXPECT_EQ(retention.look(leader_, ledger_).unlisted, 1);
    EXPECT_EQ(retention.look(leader_, ledger_).dropped, 1);
    EXPECT_EQ(database().number("SELECT count(*) FROM segment_parts"), 0);
    EXPECT_EQ(apply(worker, 0, 0, 10), 10);
}

TEST_F(PartitionSegmentTest, WorkersRunThroughTheSealing) {
    ScriptedLog log(2);
    for (int i = 0; i < 6000; ++i) {
        const int key = i % 8 >= 6 ? i / 8 * 4 + i % 2 : i;
        log.append(i % 2, {.key = std::to_string(i % 2) + "-" + std::to_string(key)});
    }
    run_through_the_sealing(log);
}

TEST_F(PartitionSegmentTest, AFilterWhoseSegmentWasDroppedMeanwhileIsNoFailure) {
    CoreWorker worker(log_, sink_, options());
    apply(worker, 0, 0, 10);
    seal();
    PartitionLogStore store = store_of(leader_, registered_);
    store.catch_up(leader_);
    store.window(Partition{0}).drop_filters(std::size_t{1} << 20);
    ASSERT_TRUE(store.window(Partition{0}).missing_filter());
    drop_first_generation();
    EXPECT_NO_THROW(store.catch_up(leader_));
}

}  // namespace
}  // namespace onceward::support
