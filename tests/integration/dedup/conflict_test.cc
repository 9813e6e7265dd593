// A key that is repeated with another fingerprint, by the policy of its topic and in every ledger.

#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

class ConflictTest : public LedgerTest {};

TEST_P(ConflictTest, AConflictIsDeadLetteredAndNotApplied) {
    ScriptedLog log(1);
    for (const char* payload : {"1", "2", "1"}) {
        log.append(0, {.key = "key", .payload = payload, .fingerprint = digest_of_bytes(payload)});
    }
    CoreWorkerOptions single = options();
    for (const std::size_t size : {1U, 3U}) {
        single.batch_messages = size;
        single.topic = "batches of " + std::to_string(size);
        single.ledger = single.topic;
        CoreWorker worker(log, sink_, single);
        ASSERT_TRUE(worker.run());
        EXPECT_EQ(worker.totals, (Totals{.applied = 1, .duplicates = 1, .conflicts = 1}));
    }
    EXPECT_EQ(
        database().number("SELECT count(*) FROM dead_letters WHERE error_class = 'conflict' AND "
                          "record_offset = 1"),
        2);
}

TEST_P(ConflictTest, AConflictIsToldWithBothFingerprintsAndThePlaceOfTheFirst) {
    ScriptedLog log(1);
    append_keys(log, 0, "before", 1);
    const Digest one = digest_of_bytes("1"), two = digest_of_bytes("2");
    log.append(0, {.key = "key", .fingerprint = one});
    append_keys(log, 0, "behind", 1);
    log.append(0, {.key = "key", .fingerprint = two});
    CoreWorkerOptions three = options();
    three.batch_messages = 3;
    CoreWorker worker(log, sink_, three);
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(worker.totals, (Totals{.applied = 3, .conflicts = 1}));
    EXPECT_EQ(database().value("SELECT fingerprint FROM dead_letters"), uuid_text(two));
    EXPECT_EQ(database().value("SELECT first_fingerprint FROM dead_letters"), uuid_text(one));
    // A log knows its batches' places alone.
    const std::string place = GetParam() == LedgerCase::table
                                  ? R"("offset": 1, "partition": 0}])"
                                  : R"("offset": 0, "partition": 0, "last_offset": 2}])";
    EXPECT_EQ(database().value("SELECT first_places FROM dead_letters"),
              R"([{"group": "group", "topic": "topic", )" + place);
    const Expectation conflicts{.some_rejected = true};
    expect_no_violations(log, conflicts);
}

TEST_P(ConflictTest, AConflictWithinOneBatchNamesItsFirstMessage) {
    ScriptedLog log(2);
    log.append(0, {.key = "key", .fingerprint = digest_of_bytes("1")});
    log.append(1, {.key = "other"});
    log.append(1, {.key = "key", .fingerprint = digest_of_bytes("2")});
    CoreWorker worker(log, sink_, options());
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(worker.totals, (Totals{.applied = 2, .conflicts = 1}));
    EXPECT_EQ(database().value("SELECT first_places FROM dead_letters WHERE partition = 1 AND "
                               "record_offset = 1"),
              R"([{"group": "group", "topic": "topic", "offset": 0, "partition": 0}])");
}

TEST_P(ConflictTest, AnIgnoredConflictIsCountedAndNothingElse) {
    ScriptedLog log(1);
    for (const char* payload : {"1", "2", "1", "3"}) {
        log.append(0, {.key = "key", .payload = payload, .fingerprint = digest_of_bytes(payload)});
    }
    CoreWorkerOptions ignoring = options();
    ignoring.policy.on_conflict = RejectPolicy::OnConflict::ignore;
    CoreWorker worker(log, sink_, ignoring);
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(worker.totals, (Totals{.applied = 1, .duplicates = 1, .conflicts = 2}));
    EXPECT_EQ(database().number("SELECT conflicts FROM fences"), 2);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 0);
    EXPECT_EQ(fence(0), 4);
}

// What the operator passes is then the conflict alone.
TEST_P(ConflictTest, OnConflictHaltStopsInFrontOfTheConflict) {
    ScriptedLog log(1);
    append_keys(log, 0, "before", 2);
    log.append(0, {.key = "key", .fingerprint = digest_of_bytes("1")});
    log.append(0, {.key = "key", .fingerprint = digest_of_bytes("2")});
    append_keys(log, 0, "behind", 2);
    CoreWorkerOptions halting = options();
    halting.policy.on_conflict = RejectPolicy::OnConflict::halt;
    for (const std::size_t size : {10U, 1U}) {
        halting.batch_messages = size;
        CoreWorker worker(log, sink_, halting);
        const auto halted = halt_of(worker);
        ASSERT_TRUE(halted);
        EXPECT_EQ(halted->offset, Offset{3});
        EXPECT_EQ(fence(0), 3);
        EXPECT_EQ(effects(), 3);
    }
    CoreWorker after(log, sink_, options("after"));
    ASSERT_TRUE(after.run());
    EXPECT_EQ(after.totals, (Totals{.applied = 2, .conflicts = 1}));
    const Expectation conflicts{.some_rejected = true};
    expect_no_violations(log, conflicts);
}

INSTANTIATE_TEST_SUITE_P(Ledgers, ConflictTest, every_ledger, name_of);
INSTANTIATE_TEST_SUITE_P(LedgerOfPartitions, ConflictTest,
                         ::testing::Values(LedgerCase::log_of_partitions), name_of);

}  // namespace
}  // namespace onceward::support
