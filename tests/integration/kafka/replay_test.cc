// Ranges that are read again while the worker that has passed them runs.

#include "cli/replay/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <utility>

#include "cli/operator/broker_view.h"
#include "dedup/postgres/transaction.h"
#include "dedup/retention/retention.h"
#include "sinks/outbox/outbox_rows.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;
using testing::HasSubstr;

// A sink that has a result for each message.
class Answering final : public Sink {
  public:
    explicit Answering(std::unique_ptr<Sink> sink) : sink_(std::move(sink)) {}
    std::vector<FieldSource> fields() const override { return sink_->fields(); }
    void prepare(Connection& connection) override { sink_->prepare(connection); }
    std::optional<Rejection> encode(Message& message,
                                    std::pmr::memory_resource& arena) const override {
        return sink_->encode(message, arena);
    }
    void write(Transaction& transaction, const BatchContext& context,
               std::span<const Message* const> messages) override {
        sink_->write(transaction, context, messages);
        results_.assign(messages.size(), MessageResult{.headers = {}, .body = "written"});
    }
    std::vector<MessageResult> take_results() override { return std::exchange(results_, {}); }

  private:
    std::unique_ptr<Sink> sink_;
    std::vector<MessageResult> results_;
};

class ReplayTest : public testing::Test {
  protected:
    void answer() {
        WorkerTopic& topic = options_.topics[0];
        topic.ledger.stores_results = true;
        topic.answers.emplace().reply.topic = "replies";
        topic.replies = [this] { return std::make_unique<OutboxReplies>(scene_.group()); };
        topic.sink = [plain = topic.sink] { return std::make_unique<Answering>(plain()); };
    }
    // A worker has applied 100 messages, half of them in each partition.
    void apply_hundred() {
        worker_ = &scene_.start(options_);
        scene_.send(100);
        ASSERT_TRUE(scene_.all_applied());
    }
    KnownReplay begun(bool dedup) {
        ReplayRequest request{scene_.group(), scene_.topic(), "all of it", "a test", {}, dedup};
        for (const int partition : {0, 1}) {
            request.ranges.push_back({Partition{partition}, Offset{0}, Offset{50}});
        }
        Connection connection(scene_.schema().worker());
        begin_replay(connection, request);
        return find_replay(connection, request).value();
    }
    ReplayOptions options(bool dedup) {
        ReplayOptions options;
        options.group = scene_.group();
        options.worker = options_;
        options.worker.batch.messages = 7;
        options.worker.postgres.application_name = "replay";
        options.identity = {"",
                            BrokerView(options_.kafka).queries().identity(scene_.topic()).topic_id};
        options.dedup = dedup;
        return options;
    }
    std::int64_t number(const std::string& text) { return scene_.database().number(text); }
    // By how many of the 100 keys there are other than `times` effects.
    std::int64_t applied_otherwise(int times) {
        return number("SELECT count(*) FROM (SELECT FROM effects GROUP BY key HAVING count(*) <> " +
                      std::to_string(times) + ") AS other");
    }
    std::int64_t fences() { return number("SELECT count(*) FROM fences"); }

    Scene scene_{{.partitions = 2}};
    WorkerOptions options_ = scene_.options();
    Worker* worker_ = nullptr;
};

TEST_F(ReplayTest, WhatIsClaimedStillIsADuplicateAndWhatIsNotIsApplied) {
    apply_hundred();
    scene_.database().execute(
        "DELETE FROM claims_1_1 WHERE record_offset < 10; "
        "DELETE FROM effects WHERE kafka_offset < 10");
    const ReplayReport report = run_replay(begun(true), options(true));
    EXPECT_TRUE(report.finished);
    EXPECT_EQ(report.totals, (Totals{.applied = 20, .duplicates = 80}));
    EXPECT_EQ(applied_otherwise(1), 0);
    EXPECT_EQ(number("SELECT count(*) FROM claims_1_1"), 100);
    EXPECT_EQ(scene_.database().value("SELECT concat_ws(' ', applied, duplicates, without_dedup, "
                                      "reason, started_by <> '', finished_at IS NOT NULL) "
                                      "FROM replays"),
              "20 80 f a test t t");
}

TEST_F(ReplayTest, TheGroupAndItsWorkerAreLeftAlone) {
    apply_hundred();
    ASSERT_TRUE(eventually(patience, [&] {
        return scene_.kafka().committed_offset(scene_.group(), scene_.topic(), 0) == 50;
    }));
    const std::string before = scene_.fence(0, "next_offset, owner, epoch, applied, duplicates");
    run_replay(begun(false), options(false));
    EXPECT_EQ(scene_.fence(0, "next_offset, owner, epoch, applied, duplicates"), before);
    EXPECT_EQ(scene_.kafka().committed_offset(scene_.group(), scene_.topic(), 0), 50);
    EXPECT_EQ(fences(), 2) << "those of the replay go with its end";
    scene_.send(10);
    EXPECT_TRUE(eventually(patience, [&] { return scene_.applied() == 210; }));
    EXPECT_EQ(worker_->status().totals.duplicates, 0);
}

TEST_F(ReplayTest, WithoutDedupEachIsAppliedOnceMoreThoughItsSessionIsLost) {
    apply_hundred();
    ReplayOptions losing = options(false);
    int lost = 0;
    losing.progress = [&](const Totals& totals, std::int64_t) {
        if (totals.applied % 3 != 0) return;
        lost += static_cast<int>(
            number("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
                   "application_name = 'replay'"));
    };
    const ReplayReport report = run_replay(begun(false), losing);
    EXPECT_GT(lost, 2);
    EXPECT_EQ(report.totals.applied, 100);
    EXPECT_EQ(applied_otherwise(2), 0);
    EXPECT_EQ(number("SELECT count(*) FROM claims_1_1"), 100);
}

TEST_F(ReplayTest, AnInterruptedOneGoesOnWhereItEnded) {
    apply_hundred();
    ReplayOptions interrupted = options(false);
    bool enough = false;
    interrupted.progress = [&](const Totals& totals, std::int64_t) {
        enough = totals.applied >= 60;
    };
    interrupted.stopped = [&] { return enough; };
    const KnownReplay first = begun(false);
    const ReplayReport part = run_replay(first, interrupted);
    EXPECT_FALSE(part.finished);
    EXPECT_GE(part.totals.applied, 60);
    EXPECT_EQ(fences(), 4);
    const KnownReplay again = begun(false);
    EXPECT_EQ(again.number, first.number);
    EXPECT_FALSE(again.finished);
    EXPECT_EQ(again.ranges, first.ranges);
    const ReplayReport rest = run_replay(again, options(false));
    EXPECT_TRUE(rest.finished);
    EXPECT_EQ(rest.totals.applied, 100);
    EXPECT_EQ(applied_otherwise(2), 0);
    EXPECT_NE(begun(false).number, first.number) << "it has finished";
}

// Days pass between its two runs, and the group has read everything long ago.
TEST_F(ReplayTest, WhileOneIsOpenRetentionKeepsTheClaimsThatItsRestNeeds) {
    apply_hundred();
    scene_.stop_all();
    const KnownReplay known = begun(true);
    ReplayOptions interrupted = options(true);
    bool enough = false;
    interrupted.progress = [&](const Totals&, std::int64_t) { enough = true; };
    interrupted.stopped = [&] { return enough; };
    EXPECT_FALSE(run_replay(known, interrupted).finished);
    scene_.database().execute(
        "SELECT rotate_ledger(1, 1); "
        "UPDATE generations SET created_at = clock_timestamp() - interval '9 days', "
        "sealed_at = clock_timestamp() - interval '8 days' WHERE generation = 1; "
        "UPDATE fences SET watermark = clock_timestamp(); "
        "UPDATE ledger_feeds SET watermark = clock_timestamp(), partitions = 2");
    const LedgerOptions& ledger = options_.topics[0].ledger;
    const ConnectionOptions worker = scene_.schema().worker();
    RetentionJob job({.connection = worker, .ledgers = {ledger}});
    Connection session(worker);
    EXPECT_EQ(job.look(session, ledger).unlisted, 0);
    const ReplayReport rest = run_replay(known, options(true));
    EXPECT_TRUE(rest.finished);
    EXPECT_EQ(rest.totals, (Totals{.duplicates = 100}));
    EXPECT_EQ(applied_otherwise(1), 0) << "applied a second time";
    EXPECT_EQ(job.look(session, ledger).unlisted, 1) << "it has finished, and holds nothing";
}

// Else an expiry that did not see it would take the claims that it has just been told of.
TEST_F(ReplayTest, ItBeginsBeforeOrAfterAnExpiryAndNeverBesideIt) {
    apply_hundred();
    scene_.stop_all();
    Connection expiring(scene_.schema().worker());
    OwnedTransaction expiry(expiring);
    expiry.query("SELECT pg_advisory_xact_lock(1330524999, 1)", {});
    auto begin = std::async(std::launch::async, [&] { return begun(true).number; });
    EXPECT_TRUE(eventually(patience, [&] {
        return number(
                   "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND "
                   "classid = 1330524999 AND objid = 1 AND NOT granted") == 1;
    }));
    EXPECT_EQ(number("SELECT count(*) FROM replays"), 0);
    expiry.commit();
    EXPECT_EQ(begin.get(), 1);
}

TEST_F(ReplayTest, ASecondRunOfTheSameTakesItOverAndNothingIsAppliedTwice) {
    apply_hundred();
    const KnownReplay known = begun(false);
    ReplayOptions first = options(false);
    bool met = false;
    first.progress = [&](const Totals&, std::int64_t) {
        if (std::exchange(met, true)) return;
        EXPECT_TRUE(run_replay(known, options(false)).finished);
    };
    try {
        run_replay(known, first);
        ADD_FAILURE() << "both took themselves for the only one";
    } catch (const std::runtime_error& error) {
        EXPECT_THAT(error.what(), HasSubstr("another run of this replay"));
    }
    EXPECT_EQ(applied_otherwise(2), 0);
}

TEST_F(ReplayTest, DeadLettersOfWhatIsAppliedNowAreResolvedAndTheOthersStayOpen) {
    scene_.database().execute("ALTER TABLE effects ADD CONSTRAINT not_yet CHECK (id % 10 <> 0)");
    options_.topics[0].reject.cap_share = 1.0;
    scene_.start(options_);
    scene_.send(100);
    const auto open = [&] {
        return number("SELECT count(*) FROM dead_letters WHERE resolved_at IS NULL");
    };
    ASSERT_TRUE(eventually(patience, [&] { return open() == 10 && scene_.applied() == 90; }));
    EXPECT_EQ(run_replay(begun(true), options(true)).totals,
              (Totals{.duplicates = 90, .dead_lettered = 10}));
    EXPECT_EQ(open(), 10);
    scene_.database().execute("ALTER TABLE effects DROP CONSTRAINT not_yet");
    EXPECT_EQ(run_replay(begun(true), options(true)).totals,
              (Totals{.applied = 10, .duplicates = 90}));
    EXPECT_EQ(open(), 0);
    EXPECT_EQ(number("SELECT count(*) FROM dead_letters"), 10);
    EXPECT_EQ(applied_otherwise(1), 0);
}

TEST_F(ReplayTest, ResultsOfWhatIsAppliedNowAreStoredAndPastDedupThereAreNone) {
    answer();
    apply_hundred();
    scene_.database().execute(
        "DELETE FROM results_1_1 USING claims_1_1 AS claim WHERE results_1_1.digest = claim.digest "
        "AND claim.record_offset < 10; DELETE FROM claims_1_1 WHERE record_offset < 10; "
        "DELETE FROM effects WHERE kafka_offset < 10");
    const auto results = [&] { return number("SELECT count(*) FROM results_1_1"); };
    ASSERT_EQ(results(), 80);
    EXPECT_EQ(run_replay(begun(true), options(true)).totals,
              (Totals{.applied = 20, .duplicates = 80}));
    EXPECT_EQ(results(), 100);
    EXPECT_EQ(number("SELECT count(*) FROM outbox WHERE topic = 'replies'"), 200);
    EXPECT_EQ(run_replay(begun(false), options(false)).totals.applied, 100);
    EXPECT_EQ(results(), 100);
    EXPECT_EQ(number("SELECT count(*) FROM outbox"), 200) << "no replies are sent";
}

TEST_F(ReplayTest, AnotherLogUnderTheSameNameIsNotRead) {
    apply_hundred();
    const KnownReplay known = begun(false);
    scene_.database().execute(
        "UPDATE fences SET topic_id = 'AAAAAAAAAAAAAAAAAAAAAA' WHERE consumer_group LIKE "
        "'% replay %'");
    EXPECT_THROW(run_replay(known, options(false)), std::runtime_error);
    EXPECT_EQ(scene_.applied(), 100);
}

}  // namespace
}  // namespace onceward::kafka_tests
