// Merged segments: the same verdicts as from the segments that they replace, whatever happens while
// one is made, and also where no filter fits into memory.

#include <future>

#include "dedup/claims/log/log_reader.h"
#include "dedup/claims/log/log_store.h"
#include "dedup/ledger/ledger.h"
#include "dedup/retention/merging.h"
#include "dedup/retention/retention.h"
#include "dedup/server/migration.h"
#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

constexpr MergeRule any_two{.fewest = 2};

class MergeTest : public SealingTest {
  protected:
    MergeTest() : SealingTest(Reach::global) {}

    // Applies keys `first` to `last`, exclusive, in batches; how many were fresh.
    std::int64_t apply(CoreWorker& worker, int first, int last) {
        const std::int64_t before = worker.totals.applied;
        for (int i = first; i < last; ++i) {
            log_.append(0, {.key = "k" + std::to_string(i),
                            .fingerprint = digest_of_bytes(std::to_string(i))});
        }
        EXPECT_TRUE(worker.run());
        return worker.totals.applied - before;
    }
    void seal() {
        rotate();
        ASSERT_TRUE(seal_oldest(leader_, registered_.ledger, small_shards).sealed);
        ASSERT_EQ(drop_sealed_logs(leader_, registered_.ledger), 1);
    }
    // So many segments of a thousand keys each.
    void make_segments(CoreWorker& worker, int count) {
        for (int i = 0; i < count; ++i) {
            ASSERT_EQ(apply(worker, 1000 * i, 1000 * (i + 1)), 1000);
            seal();
        }
    }
    MergeReport merge(const MergeRule& rule = any_two) {
        return Merger(leader_, registered_.ledger, small_shards).step(rule, 1h);
    }
    // As retention does with what no generation and no segment has any more.
    void drop_replaced() {
        merge({.fewest = 1000});
        database().execute("SELECT drop_generation(1, one) FROM orphaned_generations(1) AS one");
    }
    std::int64_t tables(const std::string& pattern) {
        return database().number(
            "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = '" +
            schema_.name() + "'::regnamespace AND relname ~ '^" + pattern + "$'");
    }
    std::string generations() {
        return database().value(
            "SELECT string_agg(generation::text, ' ' ORDER BY generation) FROM generations");
    }

    ScriptedLog log_{1};
};

TEST_F(MergeTest, TheMergedSegmentGivesTheSameVerdicts) {
    CoreWorker before(log_, sink_, in_batches("before"));
    make_segments(before, 3);
    const MergeReport report = merge();
    EXPECT_TRUE(report.merged);
    EXPECT_EQ(report.segments, 3);
    EXPECT_EQ(report.claims, 3000);
    EXPECT_EQ(generations(), "1 4");
    EXPECT_EQ(tables("sealed_1_1m1"), 1);
    // A worker that knew the segments of before, while their tables are there and after that.
    EXPECT_EQ(apply(before, 0, 3000), 0);
    drop_replaced();
    EXPECT_EQ(tables("(sealed|filters|batches)_1_[0-9]+"), 0);
    EXPECT_EQ(apply(before, 0, 3500), 500);
    CoreWorker late(log_, sink_, in_batches("late"));
    EXPECT_EQ(apply(late, 0, 4000), 500);
    EXPECT_EQ(late.totals.conflicts, 0);
    expect_no_violations(log_);
}

TEST_F(MergeTest, AConflictNamesTheFirstMessageOfAMergedSegment) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 2);
    ASSERT_TRUE(merge().merged);
    drop_replaced();
    CoreWorker late(log_, sink_, in_batches("late"));
    for (CoreWorker* one : {&worker, &late}) {
        log_.append(0, {.key = "k1700", .fingerprint = digest_of_bytes("another")});
        ASSERT_TRUE(one->run());
        EXPECT_EQ(one->totals.conflicts, 1);
    }
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters WHERE first_places = "
                                R"('[{"group": "group", "topic": "topic", "partition": 0, )"
                                R"("offset": 1600, "last_offset": 1899}]')"),
              2);
}

// A merge of merges has another name for its tables, and a worker finds it from wherever it was.
TEST_F(MergeTest, WhatWasMergedIsMergedAgain) {
    CoreWorker first(log_, sink_, in_batches("first"));
    make_segments(first, 2);
    ASSERT_TRUE(merge().merged);
    CoreWorker second(log_, sink_, in_batches("second"));
    EXPECT_EQ(apply(second, 2000, 3000), 1000);
    seal();
    EXPECT_FALSE(merge({.fewest = 2, .longest = 0ms}).merged) << "it would last too long";
    EXPECT_EQ(apply(second, 3000, 6000), 3000);
    seal();
    ASSERT_TRUE(merge().merged);
    EXPECT_EQ(generations(), "1 5");
    EXPECT_EQ(database().value("SELECT merge || ' ' || last_generation FROM segments"), "2 4");
    drop_replaced();
    EXPECT_EQ(tables("(sealed|filters|batches)_1_[0-9m]+"), 3);
    for (CoreWorker* one : {&first, &second}) EXPECT_EQ(apply(*one, 0, 6000), 0);
    expect_no_violations(log_);
}

// Slower, and never wrong: each claim is looked up in each segment.
TEST_F(MergeTest, WithoutRoomForAFilterTheVerdictsAreTheSame) {
    windows_ = std::make_shared<LogWindows>(0);
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 3);
    EXPECT_EQ(apply(worker, 0, 3100), 100);
    ASSERT_TRUE(merge().merged);
    drop_replaced();
    EXPECT_EQ(apply(worker, 0, 3200), 100);
    LogStore store(registered_.ledger, registered_.source, windows_);
    store.catch_up(leader_);
    EXPECT_TRUE(store.window()->missing_filter());
    expect_no_violations(log_);
}

TEST_F(MergeTest, FiltersMakeRoomForRecentClaims) {
    CoreWorker first(log_, sink_, in_batches("first"));
    make_segments(first, 2);
    windows_ = std::make_shared<LogWindows>(std::size_t{100} << 10);
    LogStore store(registered_.ledger, registered_.source, windows_);
    store.catch_up(leader_);
    EXPECT_FALSE(store.window()->missing_filter());
    // It is in the same process, so that both have one window.
    CoreWorker neighbour(log_, sink_, in_batches("neighbour"));
    EXPECT_EQ(apply(neighbour, 0, 10'000), 8000);
    EXPECT_GT(windows_->bytes(), windows_->limit());
    store.catch_up(leader_);
    EXPECT_TRUE(store.window()->missing_filter());
    EXPECT_EQ(apply(neighbour, 0, 10'000), 0);
}

// Its own batches keep the log's last look fresh, so that it never reads the log between them.
TEST_F(MergeTest, AWorkerThatIsNeverIdleGoesOverToTheSegments) {
    windows_ = std::make_shared<LogWindows>();
    CoreWorker worker(log_, sink_, in_batches("worker"));
    ASSERT_EQ(apply(worker, 0, 1000), 1000);
    rotate();
    ASSERT_EQ(apply(worker, 1000, 1300), 300);
    LogStore store(registered_.ledger, registered_.source, windows_);
    store.catch_up(leader_);
    const auto shared = windows_->join(log_server(leader_), registered_.ledger);
    LogWindow& window = *shared;
    ASSERT_EQ(&window, store.window());
    ASSERT_TRUE(seal_oldest(leader_, registered_.ledger, small_shards).sealed);
    const auto busy = [&] { window.last_look = LogWindow::Clock::now(); };
    busy();
    store.catch_up(leader_);
    EXPECT_FALSE(window.has_segment(1, 0)) << "it was asked a moment ago";
    window.next_segments_look = LogWindow::Clock::time_point{};
    busy();
    store.catch_up(leader_);
    EXPECT_TRUE(window.has_segment(1, 0));
    EXPECT_EQ(apply(worker, 0, 1400), 100);
}

// As a conversion leaves it that was killed before it wrote its last segment's filters.
TEST_F(MergeTest, AFilterThatWasNeverWrittenKeepsNoneOfEarlierSegmentsAway) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 3);
    database().execute("DELETE FROM filters_1_3");
    windows_ = std::make_shared<LogWindows>();
    LogStore store(registered_.ledger, registered_.source, windows_);
    store.catch_up(leader_);
    const LogWindow& window = *store.window();
    ASSERT_TRUE(window.missing_filter());
    EXPECT_EQ(window.missing_filter()->generation, 3);
    EXPECT_FALSE(window.missing_filter(3));
    CoreWorker late(log_, sink_, in_batches("late"));
    EXPECT_EQ(apply(late, 0, 3100), 100);
}

TEST_F(MergeTest, AClaimIsTakenOutOfAMergedSegment) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 2);
    ASSERT_TRUE(merge().merged);
    const auto forget = [&](const std::string& key) {
        return database().number("SELECT count(*) FROM evict_claims(1, ARRAY['" +
                                 uuid_text(scripted_digest(key)) + "'::uuid], 'test')");
    };
    EXPECT_EQ(forget("k7"), 1);
    EXPECT_EQ(forget("k1999"), 1);
    EXPECT_EQ(forget("k7"), 0);
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

TEST_F(MergeTest, RetentionMergesAndDropsWhatThatReplaced) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 4);
    RetentionJob retention({schema_.worker(), {ledger_}, 20ms, 1s});
    EXPECT_TRUE(retention.look(leader_, ledger_).merged);
    EXPECT_FALSE(retention.look(leader_, ledger_).merged);
    EXPECT_EQ(tables("(sealed|filters|batches)_1_[0-9m]+"), 3);
    EXPECT_EQ(database().number("SELECT count(*) FROM segments"), 1);
}

TEST_F(MergeTest, WorkersRunThroughMerges) {
    ScriptedLog log(2);
    for (int i = 0; i < 6000; ++i) {
        log.append(i % 2, {.key = "k" + std::to_string(i % 4 == 3 ? i / 3 : i)});
    }
    std::atomic<int> merged{0};
    run_through_the_sealing(log, [&] { merged += merge().merged ? 1 : 0; });
    EXPECT_GT(merged, 0);
}

}  // namespace
}  // namespace onceward::support
