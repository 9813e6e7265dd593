// The fence against a real server: what may move it, and who waits for whom.

#include "dedup/fence/fence.h"

#include <future>

#include "dedup/operator/interventions.h"
#include "schemas/queries.h"
#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FenceTest : public LedgerTest {};

TEST_P(FenceTest, MessagesAreAppliedOnceAndTheTotalsAreExact) {
    ScriptedLog log(3);
    for (int partition = 0; partition < 3; ++partition) {
        append_keys(log, partition, "a", 50);
        log.leave_gap(partition, 7);
        append_keys(log, partition, "p" + std::to_string(partition) + "-", 50);
        log.leave_gap(partition, 3);
    }
    log.append(0, {.key = "skipped", .skipped = true});
    CoreWorkerOptions small = options();
    small.batch_messages = 30;
    CoreWorker worker(log, sink_, small);
    ASSERT_TRUE(worker.run());
    expect_no_violations(log);
    EXPECT_EQ(worker.totals, (Totals{.applied = 200, .duplicates = 100, .skipped = 1}));
}

// Without the comparison of next_offset the second batch would move the fence over the first one.
TEST_P(FenceTest, ABatchDroppedInsideTheWorkerIsNotJumpedOver) {
    ScriptedLog log(1);
    append_keys(log, 0, "k", 20);
    CoreWorkerOptions ten = options();
    ten.batch_messages = 10;
    CoreWorker worker(log, sink_, ten);
    worker.connect();
    worker.take_fences();
    ASSERT_TRUE(worker.fill());
    worker.processor().abandon();
    ASSERT_TRUE(worker.fill());
    EXPECT_THAT(worker.process(), ElementsAre(Partition{0}));
    EXPECT_EQ(fence(0), 0);
    EXPECT_EQ(effects(), 0);
    ASSERT_TRUE(worker.run());
    expect_no_violations(log);
}

// A fail-over that lost commits leaves the owner's id in the row and puts next_offset back. A
// worker that began where its memory says would jump over what was lost; comparing the owner alone
// lets it.
TEST_P(FenceTest, AFenceThatWentBackUnderItsOwnerIsNotJumpedOver) {
    ScriptedLog log(1);
    append_keys(log, 0, "k", 30);
    CoreWorkerOptions ten = options();
    ten.batch_messages = 10;
    CoreWorker worker(log, sink_, ten);
    ASSERT_TRUE(worker.step());
    ASSERT_TRUE(worker.step());
    ASSERT_EQ(fence(0), 20);
    const std::string claims =
        store_ == StoreKind::log
            ? "UPDATE ledgers SET evictions = evictions + 1; DELETE FROM claims_1_1 WHERE "
              "first_offsets[1] >= 10"
            : "DELETE FROM claims_1_1 WHERE record_offset >= 10";
    database().execute("UPDATE fences SET next_offset = 10, applied = 10; " + claims +
                       "; DELETE FROM effects WHERE record_offset >= 10");
    ASSERT_TRUE(worker.fill());
    EXPECT_THAT(worker.process(), ElementsAre(Partition{0}));
    EXPECT_EQ(effects("record_offset >= 10"), 0);
    ASSERT_TRUE(worker.run());
    expect_no_violations(log);
}

// The harness is a check only if a worker that starts from memory after a reconnect can be seen to
// fail.
TEST_P(FenceTest, AStartFromMemoryNeverGetsPastTheFence) {
    ScriptedLog log(1);
    append_keys(log, 0, "k", 30);
    CoreWorkerOptions broken = options();
    broken.batch_messages = 10;
    broken.begin_from_memory = true;
    CoreWorker worker(log, sink_, broken);
    ASSERT_TRUE(worker.step());
    ASSERT_TRUE(worker.fill());  // reads 10..19, and loses them with the connection
    worker.lose_connection();
    worker.connect();
    worker.take_fences();
    ASSERT_TRUE(worker.fill());
    EXPECT_THAT(worker.process(), ElementsAre(Partition{0}));
    EXPECT_EQ(fence(0), 10);
}

TEST_P(FenceTest, AnotherOwnerAtTheSameOffsetMovesNothing) {
    ScriptedLog log(1);
    append_keys(log, 0, "k", 10);
    CoreWorker first(log, sink_, options("first"));
    first.connect();
    first.take_fences();
    ASSERT_TRUE(first.fill());
    CoreWorker second(log, sink_, options("second"));
    second.connect();
    second.take_fences();
    EXPECT_THAT(first.process(), ElementsAre(Partition{0}));
    EXPECT_EQ(effects(), 0);
    ASSERT_TRUE(second.run());
    expect_no_violations(log);
}

// What nobody owns has an owner in its row all the same, that no worker can have.
TEST_P(FenceTest, AFenceThatWasNotTakenMovesForNobody) {
    Connection connection(schema_.worker());
    Fences fences("group", "worker");
    fences.create(connection, "topic", {{Partition{0}, {Offset{5}}}}, 0);
    const Span span{Partition{0}, Offset{5}, Offset{6}};
    OwnedTransaction transaction(connection);
    EXPECT_THAT(fences.hold(transaction, "topic", std::span(&span, 1)), ElementsAre(Partition{0}));
    const FenceMove move{span, {}};
    EXPECT_EQ(fences.advance(transaction, "topic", std::span(&move, 1)), 0U);
}

// Offsets that a skip passes are never read. It must pass only those that it records.
TEST_P(FenceTest, ASkipMovesOnlyMyFenceAndOnlyFromWhereItIs) {
    Connection connection(schema_.worker());
    Fences mine("group", "worker"), thief("group", "thief");
    mine.create(connection, "topic", {{Partition{0}, {Offset{5}}}}, 0);
    const auto take = [&](Fences& who) {
        who.take_over(connection, "topic", Partition{0}, {}, 0, [] { return true; });
    };
    const auto refused = [&](std::int64_t begin) {
        try {
            mine.skip(connection, "topic", Partition{0}, Offset{begin}, Offset{9}, "a test");
        } catch (const PostgresError& error) {
            return error.sqlstate() == "40001";
        }
        return false;
    };
    EXPECT_TRUE(refused(5)) << "never taken";
    take(mine);
    EXPECT_TRUE(refused(4));
    EXPECT_TRUE(refused(6)) << "the fence went back";
    take(thief);
    EXPECT_TRUE(refused(5));
    EXPECT_EQ(fence(0), 5);
    EXPECT_EQ(database().number("SELECT count(*) FROM skipped_ranges"), 0);
    take(mine);
    EXPECT_FALSE(refused(5));
    EXPECT_EQ(fence(0), 9);
    EXPECT_EQ(database().number("SELECT count(*) FROM skipped_ranges"), 1);
}

// A rule or trigger of somebody else may keep the row as it is, without an error.
TEST_P(FenceTest, AFenceThatDidNotMoveTakesEverythingBack) {
    database().execute("CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN "
                       "NULL; END $$; CREATE TRIGGER keep BEFORE UPDATE OF next_offset ON fences "
                       "FOR EACH ROW EXECUTE FUNCTION keep()");
    ScriptedLog log(1);
    append_keys(log, 0, "k", 5);
    CoreWorker worker(log, sink_, options());
    worker.connect();
    worker.take_fences();
    ASSERT_TRUE(worker.fill());
    EXPECT_THAT(worker.process(), ElementsAre(Partition{0}));
    EXPECT_EQ(effects(), 0);
    EXPECT_EQ(worker.totals, Totals{});
    database().execute("DROP TRIGGER keep ON fences");
    ASSERT_TRUE(worker.run());
    expect_no_violations(log);
}

TEST_P(FenceTest, OfTwoPartitionsTheStolenOneIsLeftAndTheOtherOneLands) {
    ScriptedLog log(2);
    append_keys(log, 0, "zero-", 20);
    append_keys(log, 1, "one-", 20);
    CoreWorker victim(log, sink_, options("victim"));
    victim.connect();
    victim.take_fences();
    ASSERT_TRUE(victim.fill());
    CoreWorkerOptions thief_options = options("thief");
    thief_options.partitions = {1};
    CoreWorker thief(log, sink_, thief_options);
    thief.connect();
    thief.take_fences();
    EXPECT_THAT(victim.process(), ElementsAre(Partition{1}));
    EXPECT_EQ(effects("partition = 0"), 20);
    EXPECT_EQ(effects("partition = 1"), 0);
    EXPECT_EQ(fence(1), 0);
    ASSERT_TRUE(thief.run());
    expect_no_violations(log);
}

// While a batch is being halved the fence is between its slices; what is left of it must see
// the theft as well.
TEST_P(FenceTest, APartitionStolenBetweenTwoSlicesIsLeftThere) {
    ScriptedLog log(2);
    for (int i = 0; i < 8; ++i) {
        log.append(0, {.key = "zero-" + std::to_string(i), .payload = i == 6 ? "bad" : "1"});
        log.append(1, {.key = "one-" + std::to_string(i), .payload = "1"});
    }
    const std::string numbers =
        schema_.user_table("numbers", std::string(effect_columns) + ", number integer");
    EffectSink sink(numbers, "number", "payload::integer");
    CoreWorkerOptions thief_options = options("thief");
    thief_options.partitions = {1};
    CoreWorker thief(log, sink, thief_options);
    bool stolen = false;
    StepHook steal([&](Step step) {
        if (step != Step::after_commit || stolen) return;
        stolen = true;
        thief.connect();
        thief.take_fences();
    });
    CoreWorkerOptions victim_options = options("victim");
    victim_options.observer = &steal;
    CoreWorker victim(log, sink, victim_options);
    victim.connect();
    victim.take_fences();
    ASSERT_TRUE(victim.fill());
    victim.process();
    ASSERT_TRUE(stolen);
    ASSERT_TRUE(thief.run());
    victim.assign({0});
    ASSERT_TRUE(victim.run());
    EXPECT_THAT(violations(schema_, log, numbers, {.some_rejected = true}), IsEmpty());
    EXPECT_EQ(database().number("SELECT count(*) FROM numbers"), 15);
}

// The take-over's UPDATE waits for the row, so it reads where the old transaction left the fence. A
// SELECT would not.
TEST_P(FenceTest, ATakeOverWaitsForTheOldTransactionsFate) {
    ScriptedLog log(1);
    append_keys(log, 0, "k", 10);
    CoreWorker successor(log, sink_, options("successor"));
    std::future<void> taken;
    StepHook start([&](Step step) {
        if (step != Step::before_commit) return;
        taken = std::async(std::launch::async, [&] {
            successor.connect();
            successor.take_fences();
        });
        EXPECT_TRUE(eventually(10s, [&] { return waits_for_lock("successor"); }));
    });
    CoreWorkerOptions old = options("old");
    old.observer = &start;
    CoreWorker worker(log, sink_, old);
    ASSERT_TRUE(worker.step());
    taken.get();
    EXPECT_EQ(successor.position(0), Offset{10});
    ASSERT_TRUE(successor.run());
    expect_no_violations(log);
}

// The rows lie in the table in the opposite order. Visited so, the hold below would have row 1 and
// wait for row 0, and the two sessions would wait for each other.
TEST_P(FenceTest, RowsAreLockedInTheOrderOfTheirPartitions) {
    Connection connection(schema_.worker());
    Fences fences("group", "holder");
    for (const int partition : {1, 0}) {
        fences.create(connection, "topic", {{Partition{partition}, {Offset{0}}}}, 0);
    }
    for (const int partition : {1, 0}) {
        fences.take_over(connection, "topic", Partition{partition}, {}, 0, [] { return true; });
    }
    // The index would give them in order by chance; a planner is free to read the table.
    connection.execute(
        "SET enable_indexscan = off; SET enable_bitmapscan = off; "
        "SET enable_indexonlyscan = off");
    database().execute("BEGIN; SELECT FROM fences WHERE partition = 0 FOR UPDATE");
    std::future<std::size_t> missed = std::async(std::launch::async, [&] {
        OwnedTransaction transaction(connection);
        const std::vector<Span> spans{{Partition{1}, Offset{0}, Offset{1}},
                                      {Partition{0}, Offset{0}, Offset{1}}};
        return fences.hold(transaction, "topic", spans).size();
    });
    ASSERT_TRUE(eventually(10s, [&] { return waits_for_lock("onceward"); }));
    EXPECT_NO_THROW(database().execute("SELECT FROM fences WHERE partition = 1 FOR UPDATE NOWAIT"));
    database().execute("ROLLBACK");
    EXPECT_EQ(missed.get(), 0U);
}

TEST_P(FenceTest, ATakeOverThatIsRefusedChangesNothing) {
    Connection connection(schema_.worker());
    Fences fences("group", "worker");
    fences.create(connection, "topic", {{Partition{0}, {Offset{5}}}}, 0);
    const LogIdentity log{"cluster", "topic id"};
    const auto take = [&](const LogIdentity& identity, bool assigned) {
        return fences.take_over(connection, "topic", Partition{0}, identity, 0,
                                [=] { return assigned; });
    };
    ASSERT_FALSE(take(log, true).owner.empty());
    const std::string before = database().value("SELECT fences::text FROM fences");
    EXPECT_TRUE(take(log, false).owner.empty());
    EXPECT_TRUE(take({"cluster", "made again"}, true).owner.empty());
    EXPECT_TRUE(take({"another cluster", "topic id"}, true).owner.empty());
    EXPECT_EQ(database().value("SELECT fences::text FROM fences"), before);
    EXPECT_FALSE(fences.owns("topic", Partition{0})) << "a refused take-over leaves no claim to it";
    EXPECT_FALSE(take({"cluster", ""}, true).owner.empty())
        << "what the broker did not tell agrees";
    database().execute("UPDATE fences SET retired_at = now()");
    EXPECT_TRUE(take(log, true).owner.empty());
    EXPECT_TRUE(take(log, true).retired);
}

TEST_P(FenceTest, WhoTakesItLearnsThatMemoryRanShortAtThisVeryOffset) {
    Connection connection(schema_.worker());
    Fences fences("group", "worker");
    fences.create(connection, "topic", {{Partition{0}, {Offset{5}}}}, 0);
    const auto suspected = [&] {
        const FenceState seen = *fences.look(connection, "topic", Partition{0});
        const FenceState taken =
            fences.take_over(connection, "topic", Partition{0}, {}, 0, [] { return true; });
        EXPECT_EQ(seen.suspected, taken.suspected);
        return taken.suspected;
    };
    const auto note = [&](std::optional<Offset> record) {
        return note_suspect(connection, "group", {"topic", Partition{0}}, {20, 10}, record);
    };
    EXPECT_FALSE(suspected());
    EXPECT_EQ(note(Offset{4}), std::nullopt) << "the fence has passed that record";
    EXPECT_FALSE(suspected());
    EXPECT_EQ(note(Offset{5}), Offset{5});
    EXPECT_TRUE(suspected());
    database().execute("UPDATE fences SET next_offset = 6");
    EXPECT_FALSE(suspected());
    EXPECT_EQ(note(std::nullopt), Offset{6});
    EXPECT_TRUE(suspected());
    connection.query(sql::suspects_clear, Parameters{}.text("group").text("topic").integer(0));
    EXPECT_FALSE(suspected());
    EXPECT_EQ(note(std::nullopt), Offset{6}) << "once more";
    EXPECT_TRUE(suspected());
}

TEST_P(FenceTest, EachTakeOverHasAnOwnerOfItsOwnAndCountsUp) {
    Connection connection(schema_.worker());
    Fences fences("group", "worker");
    fences.create(connection, "topic", {{Partition{0}, {Offset{5}}}}, 0);
    const auto take = [&] {
        return fences.take_over(connection, "topic", Partition{0}, {}, 0, [] { return true; });
    };
    const FenceState first = take();
    const FenceState second = take();
    EXPECT_NE(first.owner, second.owner);
    EXPECT_EQ(second.epoch.raw(), first.epoch.raw() + 1);
    EXPECT_EQ(first.incarnation, second.incarnation);
    EXPECT_EQ(second.next_offset, Offset{5});
}

INSTANTIATE_TEST_SUITE_P(Ledgers, FenceTest, every_ledger, name_of);

}  // namespace
}  // namespace onceward::support
