// Segments of a log: the same verdicts from sorted blocks and filters as from the log, whatever
// happens while one is made.

#include <future>

#include "dedup/claims/log/log_store.h"
#include "dedup/ledger/ledger.h"
#include "dedup/retention/retention.h"
#include "dedup/retention/sealing.h"
#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;

class SegmentTest : public SealingTest {
  protected:
    SegmentTest() : SealingTest(Reach::global) {}
    // Applies `count` keys from `first` on in batches; how many were fresh.
    std::int64_t apply(CoreWorker& worker, ScriptedLog& log, int first, int count) {
        const std::int64_t before = worker.totals.applied;
        for (int i = 0; i < count; ++i) {
            log.append(0, {.key = "k" + std::to_string(first + i),
                           .fingerprint = digest_of_bytes(std::to_string(first + i))});
        }
        EXPECT_TRUE(worker.run());
        return worker.totals.applied - before;
    }

    ScriptedLog log_{1};
};

TEST_F(SegmentTest, ASealedGenerationGivesTheSameVerdicts) {
    CoreWorker worker(log_, sink_, in_batches("before"));
    EXPECT_EQ(apply(worker, log_, 0, 3000), 3000);
    rotate();
    EXPECT_EQ(apply(worker, log_, 3000, 500), 500);
    const SealingReport report = seal_oldest(leader_, registered_.ledger, small_shards);
    EXPECT_TRUE(report.sealed);
    EXPECT_EQ(report.claims, 3000);
    EXPECT_EQ(drop_sealed_logs(leader_, registered_.ledger), 1);
    EXPECT_FALSE(seal_oldest(leader_, registered_.ledger).sealed) << "the current one";
    EXPECT_EQ(tables("claims_1_1"), 0);
    EXPECT_EQ(database().number("SELECT count(*) FROM filters_1_1"), 8);
    // A worker that knew them one by one, and one that reads filters.
    EXPECT_EQ(apply(worker, log_, 0, 3500), 0);
    log_.append(0, {.key = "k8", .fingerprint = digest_of_bytes("another")});
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(worker.totals.conflicts, 1);
    CoreWorker late(log_, sink_, in_batches("late"));
    EXPECT_EQ(apply(late, log_, 0, 3600), 100);
    EXPECT_EQ(late.totals.conflicts, 0);
    log_.append(0, {.key = "k7", .fingerprint = digest_of_bytes("another")});
    ASSERT_TRUE(late.run());
    EXPECT_EQ(late.totals.conflicts, 1);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters WHERE first_places = "
                                R"('[{"group": "group", "topic": "topic", "partition": 0, )"
                                R"("offset": 0, "last_offset": 299}]')"),
              2)
        << "of the log and of its segment";
    const Expectation conflicts{.some_rejected = true};
    expect_no_violations(log_, conflicts);
}

// What the filter says yes to by chance is looked up, and fresh all the same.
TEST_F(SegmentTest, AFilterNeverMakesADuplicate) {
    CoreWorker worker(log_, sink_, options());
    EXPECT_EQ(apply(worker, log_, 0, 20'000), 20'000);
    rotate();
    ASSERT_TRUE(seal_oldest(leader_, registered_.ledger).sealed);
    CoreWorker late(log_, sink_, options("late"));
    EXPECT_EQ(apply(late, log_, 100'000, 100'000), 100'000);
}

TEST_F(SegmentTest, ABlockFillsAPageAndTakesTwentyOneBytesAClaim) {
    ScriptedLog log(1);
    append_keys(log, 0, "k", 20'000);
    CoreWorker worker(log, sink_, options());
    ASSERT_TRUE(worker.run());
    rotate();
    ASSERT_TRUE(seal_oldest(leader_, registered_.ledger).sealed);
    EXPECT_EQ(database().number("SELECT pg_relation_size('sealed_1_1')"), 20'000 / 400 * 8192);
    const std::int64_t all = database().number(
        "SELECT sum(pg_total_relation_size(format('%s_1_1', part)::regclass)) FROM "
        "unnest(ARRAY['sealed', 'filters', 'batches']) AS part");
    std::cout << static_cast<double>(all) / 20'000 << " bytes a sealed claim\n";
    EXPECT_LE(all, 20'000 * 32);  // of few claims; the small tables weigh
}

TEST_F(SegmentTest, MemoryOfASealedClaimIsThatOfItsFilter) {
    CoreWorker worker(log_, sink_, options());
    EXPECT_EQ(apply(worker, log_, 0, 20'000), 20'000);
    rotate();
    ASSERT_TRUE(seal_oldest(leader_, registered_.ledger).sealed);
    LogStore store(registered_.ledger, registered_.source, std::make_shared<LogWindows>());
    store.catch_up(leader_);
    EXPECT_EQ(store.window()->size(), 20'000U);
    std::cout << static_cast<double>(store.window()->bytes()) / 20'000 << " bytes a claim\n";
    EXPECT_LE(store.window()->bytes(), 20'000U * 25 / 10);
}

TEST_F(SegmentTest, WhatIsTakenOutMeanwhileMakesItWorthless) {
    CoreWorker worker(log_, sink_, options());
    apply(worker, log_, 0, 10);
    rotate();
    database().execute(
        "BEGIN; SELECT begin_segment(1, 1); UPDATE ledgers SET evictions = evictions + 1; COMMIT");
    EXPECT_EQ(database().value("SELECT publish_segment(1, 1, 0, 10, 0)"), "f");
    EXPECT_EQ(tables("claims_1_1"), 1);
}

// DANGER: begin_segment drops what an earlier try left. It must not be a segment that is in use.
TEST_F(SegmentTest, BeginsNothingOfWhatIsASegmentOrNoLog) {
    CoreWorker worker(log_, sink_, options());
    apply(worker, log_, 0, 10);
    rotate();
    database().execute("BEGIN; UPDATE ledgers SET store = 'table'");
    EXPECT_EQ(database().value("SELECT begin_segment(1, 1) IS NULL"), "t");
    database().execute("ROLLBACK");
    ASSERT_TRUE(seal_oldest(leader_, registered_.ledger, small_shards).sealed);
    EXPECT_EQ(database().value("SELECT begin_segment(1, 1) IS NULL"), "t");
    EXPECT_EQ(database().number("SELECT sum(length(digests)) FROM sealed_1_1"), 160);
}

TEST_F(SegmentTest, WhatHasExpiredMeanwhileIsNotPublished) {
    CoreWorker worker(log_, sink_, options());
    apply(worker, log_, 0, 10);
    rotate();
    database().execute("SELECT begin_segment(1, 1); DELETE FROM generations WHERE generation = 1");
    EXPECT_EQ(database().value("SELECT publish_segment(1, 1, 0, 10, 0)"), "f");
    EXPECT_EQ(database().number("SELECT log_floor FROM ledgers"), 0);
}

TEST_F(SegmentTest, WhatACrashLeftIsMadeAnew) {
    CoreWorker worker(log_, sink_, options());
    apply(worker, log_, 0, 10);
    rotate();
    database().execute("SELECT begin_segment(1, 1); INSERT INTO filters_1_1 VALUES (0, '')");
    EXPECT_TRUE(seal_oldest(leader_, registered_.ledger).sealed);
    CoreWorker late(log_, sink_, options("late"));
    EXPECT_EQ(apply(late, log_, 0, 10), 0);
}

// Neither an open generation nor one that is listed as a log may lose its table.
TEST_F(SegmentTest, OnlyAPublishedSegmentsLogIsDropped) {
    EXPECT_EQ(database().value("SELECT begin_segment(1, 1) IS NULL"), "t");
    EXPECT_EQ(database().value("SELECT drop_sealed_log(1, 1)"), "f");
    rotate();
    EXPECT_EQ(database().value("SELECT drop_sealed_log(1, 1)"), "f");
    EXPECT_EQ(tables("claims_1_[0-9]"), 2);
}

// A boundary is chosen, and the floor moves, while no append is under way.
TEST_F(SegmentTest, PublishingWaitsForTheAppendsUnderWay) {
    CoreWorker worker(log_, sink_, options());
    apply(worker, log_, 0, 10);
    rotate();
    Database holder(schema_.server().dsn);
    holder.execute("BEGIN; SELECT pg_advisory_xact_lock_shared(1330524999, 1)");
    Connection sealer(named("sealer"));
    auto sealing =
        std::async(std::launch::async, [&] { return seal_oldest(sealer, registered_.ledger); });
    EXPECT_TRUE(eventually(10s, [&] { return waits_for_lock("sealer"); }));
    EXPECT_EQ(database().number("SELECT log_floor FROM ledgers"), 0);
    holder.execute("COMMIT");
    EXPECT_TRUE(sealing.get().sealed);
    EXPECT_EQ(database().number("SELECT log_floor FROM ledgers"), 1);
}

// Every commit waits if a session waits for that lock.
TEST_F(SegmentTest, PublishingGivesWayWhereTheAppendsUnderWayDoNotEnd) {
    CoreWorker worker(log_, sink_, options());
    apply(worker, log_, 0, 10);
    rotate();
    Database holder(schema_.server().dsn);
    holder.execute("BEGIN; SELECT pg_advisory_xact_lock_shared(1330524999, 1)");
    ConnectionOptions patient = schema_.worker();
    patient.lock_timeout = 1h;
    Connection sealer(patient);
    const SealingOptions brief{.lock_timeout = 20ms, .publish_tries = 3};
    try {
        seal_oldest(sealer, registered_.ledger, brief);
        ADD_FAILURE() << "published during an append";
    } catch (const PostgresError& error) {
        EXPECT_EQ(error.sqlstate(), "55P03");
    }
    holder.execute("COMMIT");
    EXPECT_TRUE(seal_oldest(sealer, registered_.ledger, brief).sealed);
}

// A worker that had not read that far cannot read the log any more, and reads the segment.
TEST_F(SegmentTest, AWorkerThatLaggedBehindTheSegmentStartsAnew) {
    LogStore lagging(registered_.ledger, registered_.source, std::make_shared<LogWindows>());
    lagging.catch_up(leader_);
    CoreWorker worker(log_, sink_, options());
    apply(worker, log_, 0, 10);
    rotate();
    ASSERT_TRUE(seal_oldest(leader_, registered_.ledger).sealed);
    ASSERT_EQ(drop_sealed_logs(leader_, registered_.ledger), 1);
    const Claim known{scripted_digest("k3"), {}, Partition{0}, Offset{0}};
    int again = 0;
    while (true) {
        lagging.catch_up(leader_);
        OwnedTransaction transaction(leader_);
        const auto answers = lagging.claim(transaction, {&known, 1});
        try {
            if (lagging.settle(transaction) == Settlement::settled) {
                EXPECT_EQ(answers->at(0).verdict, Verdict::duplicate);
                break;
            }
        } catch (const PostgresError& error) {
            EXPECT_EQ(error.sqlstate(), "40001");
        }
        ASSERT_LT(++again, 3);
    }
    EXPECT_EQ(again, 1);
}

TEST_F(SegmentTest, RetentionSealsAndThenLetsGoOfAllOfIt) {
    CoreWorker worker(log_, sink_, options());
    apply(worker, log_, 0, 10);
    rotate();
    RetentionJob retention({schema_.worker(), {ledger_}, 20ms, 1s, {}});
    EXPECT_TRUE(retention.look(leader_, ledger_).sealed);
    EXPECT_EQ(tables("claims_1_1"), 0);
    EXPECT_EQ(tables("(sealed|filters|batches)_1_1"), 3);
    database().execute(
        "UPDATE generations SET created_at = now() - interval '3 days', sealed_at = now() - "
        "interval '2 days' WHERE generation = 1; UPDATE fences SET watermark = now(); UPDATE "
        "ledger_feeds SET partitions = 1, watermark = now()");
    const RetentionReport report = retention.look(leader_, ledger_);
    EXPECT_EQ(report.unlisted, 1);
    EXPECT_EQ(retention.look(leader_, ledger_).dropped, 1);
    EXPECT_EQ(tables("(claims|sealed|filters|batches)_1_1"), 0);
    EXPECT_EQ(database().number("SELECT count(*) FROM segments"), 0);
    CoreWorker late(log_, sink_, options("late"));
    EXPECT_EQ(apply(late, log_, 0, 10), 10) << "forgotten by now";
}

TEST_F(SegmentTest, AWorkerRunsThroughTheSealing) {
    ScriptedLog log(2);
    for (int i = 0; i < 6000; ++i) {
        log.append(i % 2, {.key = "k" + std::to_string(i % 4 == 3 ? i / 3 : i)});
    }
    run_through_the_sealing(log);
}

// DANGER: sealing moves the floor, and a new window begins there. An older generation that is still
// a log would never be read.
TEST_F(SegmentTest, TheOldestGenerationIsSealedFirst) {
    CoreWorker worker(log_, sink_, options());
    apply(worker, log_, 0, 10);
    rotate();
    apply(worker, log_, 10, 10);
    rotate();
    EXPECT_EQ(seal_oldest(leader_, registered_.ledger).generation, 1);
    CoreWorker late(log_, sink_, options("late"));
    EXPECT_EQ(apply(late, log_, 0, 20), 0);
}

}  // namespace
}  // namespace onceward::support
