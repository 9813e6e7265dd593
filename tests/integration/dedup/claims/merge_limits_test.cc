// What a merge leaves as it is, what makes one worthless, and what it refuses.

#include "dedup/base/expects.h"
#include "dedup/retention/retention.h"
#include "dedup/server/migration.h"
#include "tests/integration/dedup/claims/merge_fixture.h"

namespace onceward::support {
namespace {

TEST_F(MergeTest, AClaimIsTakenOutOfAMergedSegment) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 2);
    ASSERT_TRUE(merge().merged);
    EXPECT_EQ(take_out("k7"), 1);
    EXPECT_EQ(take_out("k1999"), 1);
    EXPECT_EQ(take_out("k7"), 0);
    EXPECT_EQ(database().number("SELECT claims FROM segments"), 1998);
    EXPECT_EQ(apply(worker, 0, 2000), 2);
    EXPECT_EQ(worker.totals.conflicts, 0) << "a block's parts do not belong together";
}

TEST_F(MergeTest, WhatIsTakenOutMeanwhileMakesItWorthless) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 2);
    EXPECT_EQ(database().value("SELECT begin_merge(1, 1, 2)"), "0");
    database().execute("UPDATE ledgers SET evictions = evictions + 1");
    EXPECT_EQ(database().value("SELECT publish_merge(1, 1, 2, 0, 2, 2000, 0)"), "f");
    EXPECT_EQ(generations(), "1 2 3");
    EXPECT_EQ(tables("sealed_1_1m1"), 1);
    drop_replaced();
    EXPECT_EQ(tables("sealed_1_1m1"), 0) << "what was not published is dropped";
    EXPECT_EQ(apply(worker, 0, 2000), 0);
}

// DANGER: the replaced segments are dropped. A claim that the merged one lacks would be lost.
TEST_F(MergeTest, WhatLacksAClaimIsNotPublished) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 3);
    database().execute(
        "CREATE TABLE kept AS SELECT * FROM sealed_1_2 ORDER BY first_digest DESC LIMIT 1; DELETE "
        "FROM sealed_1_2 USING kept WHERE sealed_1_2.first_digest = kept.first_digest");
    Merger merger(leader_, registered_.ledger, small_shards);
    EXPECT_THROW(merger.step(any_two, 1h), BrokenContract);
    EXPECT_EQ(generations(), "1 2 3 4");
    EXPECT_EQ(database().number("SELECT count(*) FROM segments WHERE merge > 0"), 0);
    // The next step begins a new merge.
    database().execute("INSERT INTO sealed_1_2 SELECT * FROM kept; DROP TABLE kept");
    EXPECT_EQ(merger.step(any_two, 1h).claims, 3000);
    EXPECT_EQ(apply(worker, 0, 3000), 0);
}

// One of its generations expires while it is made.
TEST_F(MergeTest, WhatHasExpiredMeanwhileMakesItWorthless) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 3);
    Merger merger(leader_, registered_.ledger, small_shards);
    ASSERT_TRUE(merger.step(any_two, -1ms).under_way);
    database().execute("DELETE FROM generations WHERE generation = 1");
    EXPECT_FALSE(merger.step(any_two, 1h).merged);
    EXPECT_EQ(generations(), "2 3 4");
    EXPECT_EQ(merger.step(any_two, 1h).claims, 2000);
    EXPECT_EQ(apply(worker, 1000, 3000), 0);
}

// Retention drops expired tables between two steps of a merge.
TEST_F(MergeTest, ATableThatIsGoneWithItsGenerationIsNoFailureOfTheMerge) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 4);
    Merger merger(leader_, registered_.ledger, small_shards);
    ASSERT_TRUE(merger.step(any_two, -1ms).under_way);
    drop_first_generation();
    EXPECT_FALSE(merger.step(any_two, 1h).merged);
    EXPECT_EQ(merger.step(any_two, 1h).claims, 3000);
    EXPECT_EQ(apply(worker, 1000, 4000), 0);
}

TEST_F(MergeTest, ATableThatIsMissingThoughItsGenerationIsListedIsAFailureOfTheMerge) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 2);
    database().execute("ALTER TABLE sealed_1_2 RENAME TO hidden");
    Merger merger(leader_, registered_.ledger, small_shards);
    EXPECT_THROW(merger.step(any_two, 1h), PostgresError);
    database().execute("ALTER TABLE hidden RENAME TO sealed_1_2");
    EXPECT_TRUE(merger.step(any_two, 1h).merged);
}

TEST_F(MergeTest, OnlySegmentsAreMergedWhoseLogsAreGone) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    apply(worker, 0, 10);
    rotate();
    apply(worker, 10, 20);
    rotate();
    EXPECT_EQ(database().value("SELECT begin_merge(1, 1, 2) IS NULL"), "t");
    ASSERT_TRUE(seal_oldest(leader_, registered_.ledger, small_shards).sealed);
    ASSERT_TRUE(seal_oldest(leader_, registered_.ledger, small_shards).sealed);
    EXPECT_EQ(database().value("SELECT begin_merge(1, 1, 2) IS NULL"), "t");
    EXPECT_FALSE(merge().merged);
    drop_sealed_logs(leader_, registered_.ledger);
    EXPECT_TRUE(merge().merged);
    EXPECT_EQ(database().value("SELECT drop_orphaned_merge(1, '1m1')"), "f");
    EXPECT_EQ(database().value("SELECT drop_orphaned_merge(1, '3')"), "f");
}

// DANGER: begin_merge drops what an earlier try left under the name of the merged segment.
TEST_F(MergeTest, BeginsNothingOfWhatCannotBeMerged) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 2);
    const auto refused = [&](const std::string& range) {
        return database().value("SELECT begin_merge(1, " + range + ") IS NULL") == "t";
    };
    EXPECT_TRUE(refused("1, 1")) << "one segment alone";
    EXPECT_TRUE(refused("1, 3")) << "the open generation";
    EXPECT_TRUE(refused("1, 9")) << "there is no such generation";
    for (const char* change :
         {"UPDATE segments SET by_partition = true WHERE generation = 2",
          "UPDATE ledgers SET store = 'table'", "CREATE TABLE results_1_2 (digest uuid)"}) {
        database().execute("BEGIN");
        database().execute(change);
        EXPECT_TRUE(refused("1, 2")) << change;
        database().execute("ROLLBACK");
    }
    EXPECT_EQ(tables("sealed_1_1m1"), 0);
    EXPECT_FALSE(refused("1, 2"));
}

// The others rotate and seal meanwhile, and nobody else begins the same merge.
TEST_F(MergeTest, AMergeContinuesStepByStep) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 2);
    {
        Merger merger(leader_, registered_.ledger, small_shards);
        EXPECT_TRUE(merger.step(any_two, -1ms).under_way);
        Connection other(schema_.worker());
        Merger second(other, registered_.ledger, small_shards);
        const MergeReport report = second.step(any_two, 1h);
        EXPECT_FALSE(report.merged || report.under_way);
        EXPECT_EQ(tables("sealed_1_1m1"), 1) << "it is not taken for what a crash left";
    }
    // Cut short: the next one begins from nothing.
    EXPECT_EQ(merge().claims, 2000);
    CoreWorker late(log_, sink_, in_batches("late"));
    EXPECT_EQ(apply(late, 0, 2000), 0);
}

// A dump reads for hours.
TEST_F(MergeTest, WhoReadsAReplacedSegmentHoldsUpItsDropAlone) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 2);
    Database reader(schema_.server().dsn);
    reader.execute("SET search_path TO " + schema_.name());
    reader.execute("BEGIN; SELECT count(*) FROM sealed_1_1");
    ASSERT_TRUE(merge().merged);
    EXPECT_EQ(apply(worker, 2000, 5000), 3000);
    seal();
    SealingOptions brief = small_shards;
    brief.lock_timeout = 20ms;
    EXPECT_TRUE(Merger(leader_, registered_.ledger, brief).step(any_two, 1h).merged);
    EXPECT_EQ(tables("sealed_1_1"), 1);
    reader.execute("COMMIT");
    drop_replaced();
    EXPECT_EQ(tables("sealed_1_1"), 0);
}

// DANGER: the merged segment expires with its last claims, not with its first.
TEST_F(MergeTest, AMergedSegmentExpiresAsItsLastGenerationDoes) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 2);
    database().execute(
        "UPDATE generations SET created_at = now() - interval '3 days', sealed_at = now() - "
        "interval '2 days' WHERE generation = 1; UPDATE fences SET watermark = now(); UPDATE "
        "ledger_feeds SET partitions = 1, watermark = now()");
    ASSERT_TRUE(merge({.fewest = 2, .longest = 96h}).merged);
    RetentionJob retention({schema_.worker(), {ledger_}, 20ms, 1s});
    EXPECT_EQ(retention.look(leader_, ledger_).unlisted, 0);
    EXPECT_EQ(apply(worker, 0, 2000), 0);
    database().execute(
        "UPDATE generations SET sealed_at = now() - interval '2 days' WHERE generation = 1");
    EXPECT_EQ(retention.look(leader_, ledger_).unlisted, 1);
    EXPECT_EQ(tables("(sealed|filters|batches)_1_[0-9m]+"), 0);
    EXPECT_EQ(apply(worker, 0, 2000), 2000) << "forgotten by now";
}

// DANGER: a program that does not know merges would take the first generation's filters for all.
TEST_F(MergeTest, TheFirstGenerationsOwnFiltersAreGoneWithItsPublishing) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 2);
    ASSERT_TRUE(merge().merged);
    EXPECT_EQ(database().number("SELECT count(*) FROM filters_1_1"), 0);
}

// DANGER: it would take a merged segment for that of its first generation alone.
TEST_F(MergeTest, TheSchemaOfBeforeIsRefusedWhileASegmentIsMerged) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 2);
    ASSERT_TRUE(merge().merged);
    Connection owner(schema_.owner());
    EXPECT_ANY_THROW(migrate_down(owner, 3));
    EXPECT_EQ(apply(worker, 0, 2000), 0);
}

// DANGER: the merged segment would have the claim again, and its message would be dropped.
TEST_F(MergeTest, PublishingAMergeWaitsForWhoTakesAClaimOut) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 2);
    Database holder(schema_.server().dsn);
    holder.execute("SET search_path TO " + schema_.name());
    holder.execute("BEGIN; SELECT evict_claims(1, ARRAY['" + uuid_text(scripted_digest("k7")) +
                   "'::uuid], 'a test')");
    Connection session(named("merger"));
    auto merging = std::async(std::launch::async, [&] {
        return Merger(session, registered_.ledger, small_shards).step(any_two, 1h);
    });
    EXPECT_TRUE(eventually(10s, [&] { return waits_for_lock("merger"); }));
    holder.execute("COMMIT");
    EXPECT_FALSE(merging.get().merged);
    EXPECT_EQ(generations(), "1 2 3");
    EXPECT_EQ(apply(worker, 0, 2000), 1) << "k7 alone";
}

// Its exception is no PostgresError, and must not end the process.
TEST_F(MergeTest, AMergeThatBreaksAContractIsAFailureOfItsLedgerAlone) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 3);
    database().execute(
        "DELETE FROM sealed_1_2 WHERE first_digest = (SELECT first_digest FROM "
        "sealed_1_2 ORDER BY first_digest DESC LIMIT 1)");
    const LedgerOptions other{.name = "other"};
    const std::string left =
        "claims_" + std::to_string(register_ledger(leader_, other, "group", "other").ledger) +
        "_999";
    database().execute("CREATE TABLE " + left + " ()");
    RetentionOptions both = retention();
    both.ledgers.push_back(other);
    RetentionJob job(std::move(both));
    const std::jthread passes([&](std::stop_token stop) { job.run(std::move(stop)); });
    EXPECT_TRUE(eventually(10s, [&] { return tables(left) == 0; }));
    EXPECT_TRUE(eventually(10s, [&] { return job.counts().failed_ledgers.contains("ledger"); }));
    EXPECT_FALSE(job.counts().failed_ledgers.contains("other"));
}

// DANGER: if the workers' limit cancelled them, they would be made again in every pass.
TEST_F(MergeTest, RetentionsStatementsMayTakeLongerThanTheWorkers) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 1);
    ASSERT_EQ(apply(worker, 1000, 2000), 1000);
    rotate();
    on_segments("PERFORM pg_sleep(0.5);");
    RetentionOptions options = retention();
    options.connection.statement_timeout = 100ms;
    RetentionJob job(std::move(options));
    const std::jthread passes([&](std::stop_token stop) { job.run(std::move(stop)); });
    EXPECT_TRUE(eventually(20s, [&] { return job.counts().sealed == 1; }));
    EXPECT_TRUE(eventually(20s, [&] { return job.counts().merged == 1; }));
    EXPECT_FALSE(job.counts().failed_ledgers.contains("ledger"));
}

// As pg_cancel_backend() does it, or a limit of the server.
TEST_F(MergeTest, AMergeThatIsCancelledIsReportedAsAFailure) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 2);
    database().execute("CREATE SEQUENCE tries");
    on_segments("IF nextval('" + schema_.name() +
                ".tries') = 1 THEN PERFORM pg_sleep(60); END IF;");
    RetentionOptions options = retention();
    options.connection.application_name = "cancelled";
    RetentionJob job(std::move(options));
    const std::jthread passes([&](std::stop_token stop) { job.run(std::move(stop)); });
    EXPECT_TRUE(eventually(20s, [&] {
        return database().number("SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE "
                                 "application_name = 'cancelled retention' AND wait_event = "
                                 "'PgSleep'") == 1;
    }));
    EXPECT_TRUE(eventually(20s, [&] { return job.counts().merged == 1; }));
    EXPECT_EQ(job.counts().failed_ledgers["ledger"], 1);
}

}  // namespace
}  // namespace onceward::support
