// `order: by_key`: what follows a dead letter under the same record key goes to the dead letters
// too, whatever the batches are, and until the operator has resolved it.

#include <sys/wait.h>

#include "lab/embedded/child_process.h"
#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

using ::testing::ElementsAre;

class KeyOrderTest : public CoreTest {
  protected:
    KeyOrderTest() { database().execute("ALTER TABLE effects ADD CHECK (payload <> 'bad')"); }
    CoreWorkerOptions by_key(std::size_t batch = 2000) {
        CoreWorkerOptions ordered = options();
        ordered.policy.order = RejectPolicy::Order::by_key;
        ordered.batch_messages = batch;
        return ordered;
    }
    // A message under this record key, with an idempotency key of its own.
    void append(const std::string& record_key, const std::string& payload = "{}",
                int partition = 0) {
        log_.append(
            partition,
            {.key = "k" + std::to_string(next_++), .payload = payload, .record_key = record_key});
    }
    void run(std::size_t batch = 2000) {
        CoreWorker worker(log_, sink_, by_key(batch));
        ASSERT_TRUE(worker.run());
        totals_ = worker.totals;
    }
    // offset:class, in offset order
    std::vector<std::string> dead_letters() {
        std::vector<std::string> found;
        for (const Row& row : database().execute(
                 "SELECT record_offset || ':' || error_class FROM dead_letters ORDER BY "
                 "partition, record_offset")) {
            found.push_back(*row[0]);
        }
        return found;
    }
    void resolve(const std::string& where) {
        database().execute("UPDATE dead_letters SET resolved_at = now() WHERE " + where);
    }

    ScriptedLog log_{2};
    int next_ = 0;
    Totals totals_;
};

class KeyOrderInBatches : public KeyOrderTest, public testing::WithParamInterface<std::size_t> {};

TEST_P(KeyOrderInBatches, WhatFollowsADeadLetterUnderItsKeyGoesBehindItAndTheRestLands) {
    append("K");
    append("K", "bad");
    append("K");
    append("other");
    append("K", "bad");
    append("K");
    run(GetParam());
    EXPECT_THAT(dead_letters(), ElementsAre("1:sink", "2:behind", "4:behind", "5:behind"));
    EXPECT_EQ(effects("record_offset IN (0, 3)"), 2);
    EXPECT_EQ(database().value("SELECT DISTINCT reason FROM dead_letters WHERE error_class = "
                               "'behind'"),
              "follows the dead letter at partition 0, offset 1 under the same record key");
    EXPECT_EQ(totals_, (Totals{.applied = 2, .dead_lettered = 4}));
    expect_no_violations(log_, {.some_rejected = true});
}

INSTANTIATE_TEST_SUITE_P(Sizes, KeyOrderInBatches, testing::Values(1, 2, 3, 2000));

TEST_F(KeyOrderTest, HoldsForAWorkerThatStartsLater) {
    append("K", "bad");
    run();
    append("K");
    append("other");
    run();
    EXPECT_THAT(dead_letters(), ElementsAre("0:sink", "1:behind"));
    expect_no_violations(log_, {.some_rejected = true});
}

TEST_F(KeyOrderTest, ADecodersRejectionIsFollowedInItsOwnBatch) {
    log_.append(0, {.key = "x", .rejection = Rejection{}, .record_key = "K"});
    append("K");
    run();
    EXPECT_THAT(dead_letters(), ElementsAre("0:undecodable", "1:behind"));
    expect_no_violations(log_, {.some_rejected = true});
}

TEST_F(KeyOrderTest, EndsWhenTheLastOpenOneIsResolved) {
    append("K", "bad");
    append("K");
    run();
    resolve("record_offset = 0");
    append("K");
    run();
    EXPECT_THAT(dead_letters(), ElementsAre("0:sink", "1:behind", "2:behind"))
        << "the follower is not there yet, either";
    resolve("true");
    append("K");
    run();
    EXPECT_EQ(effects("record_offset = 3"), 1);
    expect_no_violations(log_, {.some_rejected = true});
}

TEST_F(KeyOrderTest, ADuplicateOfWhatWasAppliedStaysADuplicate) {
    append("K");
    append("K", "bad");
    log_.append(0, {.key = "k0", .record_key = "K"});
    run();
    EXPECT_EQ(totals_, (Totals{.applied = 1, .duplicates = 1, .dead_lettered = 1}));
}

// As such it holds no claim: sent again under another record key it is applied.
TEST_F(KeyOrderTest, AFollowerHoldsNoClaim) {
    append("K", "bad");
    append("K");
    log_.append(0, {.key = "k1", .record_key = "other"});
    run();
    EXPECT_EQ(effects("key = 'k1' AND record_offset = 2"), 1);
    expect_no_violations(log_, {.some_rejected = true});
}

TEST_F(KeyOrderTest, HoldsAcrossPartitionsOnceTheFirstHasLanded) {
    append("K", "bad", 0);
    run();
    append("K", "{}", 1);
    run();
    EXPECT_THAT(dead_letters(), ElementsAre("0:sink", "0:behind"));
}

TEST_F(KeyOrderTest, FollowersDoNotCountForTheCapOnRejects) {
    append("K", "bad");
    for (int i = 0; i < 100; ++i) append("K");
    CoreWorkerOptions capped = by_key();
    capped.policy.cap_share = 0.5;
    capped.policy.cap_minimum = 10;
    CoreWorker worker(log_, sink_, capped);
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(dead_letters().size(), 101U);
}

TEST_F(KeyOrderTest, AMessageWithoutARejectOfItsKeyIsUntouchedAndByPartitionNeverLooks) {
    append("K", "bad");
    append("K");
    CoreWorker worker(log_, sink_, options());
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(dead_letters().size(), 1U);
    EXPECT_EQ(effects(), 1);
}

// What the operator rewinds over is read again, so that its dead letters hold nobody up; what is
// refused again does.
TEST_F(KeyOrderTest, ARewindTriesThemAgainInOrder) {
    append("K", "bad");
    append("K");
    append("L", "bad");
    append("L");
    run();
    EXPECT_EQ(dead_letters().size(), 4U);
    database().execute(
        "ALTER TABLE effects DROP CONSTRAINT effects_payload_check; "
        "ALTER TABLE effects ADD CHECK (record_offset <> 2)");
    ChildOptions child;
    child.command = {ONCEWARD_EXECUTABLE,
                     "offsets",
                     "--dsn",
                     schema_.server().worker_dsn,
                     "--schema",
                     schema_.name(),
                     "--group",
                     "group",
                     "--topic",
                     "topic",
                     "--partition",
                     "0",
                     "--set",
                     "0",
                     "--reason",
                     "a test",
                     "--yes"};
    ChildProcess offsets(child);
    const auto status = offsets.wait(std::chrono::seconds(30));
    ASSERT_TRUE(status && *status == 0);
    run();
    append("K");
    append("L");
    run();
    EXPECT_EQ(effects("record_offset IN (0, 1, 4)"), 3);
    EXPECT_EQ(effects("record_offset IN (2, 3, 5)"), 0);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters WHERE resolved_at IS NULL AND "
                                "record_offset IN (2, 3, 5)"),
              3);
}

}  // namespace
}  // namespace onceward::support
