// Merged segments: the same verdicts as from the segments that they replace, whatever happens while
// one is made, and also if no filter fits into memory.

#include "dedup/claims/log/log_reader.h"
#include "dedup/claims/log/log_store.h"
#include "dedup/ledger/ledger.h"
#include "dedup/retention/retention.h"
#include "tests/integration/dedup/claims/merge_fixture.h"

namespace onceward::support {
namespace {

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

TEST_F(MergeTest, RetentionMergesAndDropsWhatThatReplaced) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 4);
    RetentionJob retention({schema_.worker(), {ledger_}, 20ms, 1s});
    EXPECT_TRUE(retention.look(leader_, ledger_).merged);
    EXPECT_FALSE(retention.look(leader_, ledger_).merged);
    EXPECT_EQ(tables("(sealed|filters|batches)_1_[0-9m]+"), 3);
    EXPECT_EQ(database().number("SELECT count(*) FROM segments"), 1);
}

// Another process may serve it still, and has to be able to merge it.
TEST_F(MergeTest, RetentionGivesUpAMergeOfALedgerThatLeftTheConfiguration) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 2);
    RetentionJob job(retention_without_time());
    const std::jthread passes([&](std::stop_token stop) { job.run(std::move(stop)); });
    ASSERT_TRUE(eventually(10s, [&] { return tables("sealed_1_1m1") == 1; }));
    EXPECT_FALSE(merge().merged);
    job.use({});
    EXPECT_TRUE(eventually(10s, [&] { return merge().merged; }));
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

// Another process may make the same tables again, once the lost session's right is gone.
TEST_F(MergeTest, AMergeOfALostSessionBeginsFromNothing) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 2);
    RetentionJob job(retention_without_time());
    const std::jthread passes([&](std::stop_token stop) { job.run(std::move(stop)); });
    const auto made = [&] {
        return database().number("SELECT coalesce(max(oid::bigint), 0) FROM pg_class WHERE relname "
                                 "= 'sealed_1_1m1' AND relnamespace = '" +
                                 schema_.name() + "'::regnamespace");
    };
    ASSERT_TRUE(eventually(10s, [&] { return made() > 0; }));
    const std::int64_t before = made();
    database().execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
        "application_name LIKE '%retention'");
    EXPECT_TRUE(eventually(10s, [&] { return made() > 0 && made() != before; }));
}

TEST_F(MergeTest, FiltersAreReadOnlyAsFarAsThereIsRoom) {
    CoreWorker worker(log_, sink_, in_batches("worker"));
    make_segments(worker, 3);
    LogStore whole(registered_.ledger, registered_.source, std::make_shared<LogWindows>());
    whole.catch_up(leader_);
    ASSERT_FALSE(whole.window()->missing_filter());
    windows_ = std::make_shared<LogWindows>(whole.window()->bytes() / 2);
    LogStore store(registered_.ledger, registered_.source, windows_);
    store.catch_up(leader_);
    EXPECT_TRUE(store.window()->missing_filter());
}

}  // namespace
}  // namespace onceward::support
