// The log store under whole workers: what its sink meets, and many of them at once.

#include <mutex>
#include <random>

#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;

class LogWorkers : public CoreTest {
  protected:
    LogWorkers() { store_ = StoreKind::log; }
};

// What the user's own sink writes is written before the lock is taken: the other way round two
// writers of one row deadlock.
TEST_F(LogWorkers, TheLockIsTakenBehindTheSinksWrites) {
    ScriptedLog log(1);
    append_keys(log, 0, "k", 10);
    std::map<Step, std::int64_t> held;
    StepHook look([&](Step step) {
        held[step] = database().number(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 1330524999 "
            "AND objid = 1 AND objsubid = 2 AND mode = 'ExclusiveLock' AND granted");
    });
    CoreWorkerOptions mine = options();
    mine.observer = &look;
    CoreWorker worker(log, sink_, mine);
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(held[Step::after_sink], 0);
    EXPECT_EQ(held[Step::before_commit], 1);
    EXPECT_EQ(held[Step::after_commit], 0);
}

// Two workers process the same key, and the sink's own table refuses the second row.
class UniqueSinkTest : public LogWorkers {
  protected:
    UniqueSinkTest()
        : unique_(schema_.user_table("unique_effects",
                                     std::string(effect_columns) + ", payload text UNIQUE")),
          unique_sink_(unique_) {}
    // Runs a worker that stops at `where` in its first transaction, while `meanwhile` runs.
    void run(const ScriptedLog& log, int partition, Step where,
             const std::function<void()>& meanwhile) {
        bool first = true;
        StepHook hook([&](Step step) {
            if (step == where && std::exchange(first, false)) meanwhile();
        });
        CoreWorkerOptions mine = options("slow");
        mine.partitions = {partition};
        mine.observer = &hook;
        CoreWorker worker(log, unique_sink_, mine);
        ASSERT_TRUE(worker.run());
        EXPECT_THAT(worker.failures, IsEmpty());
    }
    void run_other(const ScriptedLog& log, int partition) {
        CoreWorkerOptions other = options("quick");
        other.partitions = {partition};
        CoreWorker worker(log, unique_sink_, other);
        ASSERT_TRUE(worker.run());
    }

    std::string unique_;
    EffectSink unique_sink_;
};

TEST_F(UniqueSinkTest, ARefusalByADuplicatesRowIsNoVerdict) {
    ScriptedLog log(2);
    for (const int partition : {0, 1}) {
        for (const char* key : {"a", "b", "c"}) log.append(partition, {key, key});
    }
    run(log, 0, Step::after_claims, [&] { run_other(log, 1); });
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 0);
    EXPECT_THAT(violations(schema_, log, unique_), IsEmpty());
}

TEST_F(UniqueSinkTest, ARefusalByAnotherKeysRowIsOne) {
    ScriptedLog log(1);
    log.append(0, {"a", "same"});
    log.append(0, {"b", "same"});
    log.append(0, {"c", "other"});
    run(log, 0, Step::after_claims, [] {});
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters WHERE sqlstate = '23505'"), 1);
    EXPECT_THAT(violations(schema_, log, unique_, {.some_rejected = true}), IsEmpty());
}

TEST_F(LogWorkers, ADuplicateThatLandsWhileTheSinkWritesIsDropped) {
    ScriptedLog log(2);
    for (const int partition : {0, 1}) append_keys(log, partition, "k", 50);
    append_keys(log, 0, "only-0-", 50);
    bool first = true;
    StepHook hook([&](Step step) {
        if (step != Step::after_sink || !std::exchange(first, false)) return;
        CoreWorkerOptions other = options("quick");
        other.partitions = {1};
        CoreWorker worker(log, sink_, other);
        EXPECT_TRUE(worker.run());
    });
    CoreWorkerOptions mine = options("slow");
    mine.partitions = {0};
    mine.observer = &hook;
    CoreWorker worker(log, sink_, mine);
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(worker.totals.duplicates, 50);
    expect_no_violations(log);
}

class ManyWorkers : public LedgerTest {};

// Keys near each other in four partitions, so that one is repeated before, at and after a rotation,
// and in the hands of two workers at once.
TEST_P(ManyWorkers, ApplyEachKeyOnceWhileTheLedgerRotates) {
    constexpr int keys = 10'000;
    ScriptedLog log(4);
    std::mt19937_64 random(seed());
    for (int partition = 0; partition < 4; ++partition) {
        std::vector<int> order(keys);
        for (int i = 0; i < keys; ++i) order[static_cast<std::size_t>(i)] = i;
        for (std::size_t i = 0; i + 500 < order.size(); ++i) {
            std::swap(order[i], order[i + random() % 500]);
        }
        for (const int key : order) log.append(partition, {.key = std::to_string(key)});
    }
    Database rotator(schema_.server().dsn);
    rotator.execute("SET search_path = " + schema_.name());
    // A worker that commits rotates now and then, while the others are in their batches.
    std::mutex mutex;
    int commits = 0;
    StepHook rotating([&](Step step) {
        if (step != Step::after_commit) return;
        // Not held within a transaction, for whose end a rotation waits.
        const std::lock_guard lock(mutex);
        if (++commits % 25 != 0) return;
        // Its number need not be 1: all four register it at once.
        rotator.execute(
            "SELECT rotate_ledger(ledger, max(generation)) FROM generations GROUP BY ledger");
    });
    std::vector<std::thread> threads;
    for (int partition = 0; partition < 4; ++partition) {
        threads.emplace_back([&, partition] {
            CoreWorkerOptions mine = options("worker " + std::to_string(partition));
            mine.partitions = {partition};
            mine.batch_messages = 100;
            mine.observer = &rotating;
            CoreWorker worker(log, sink_, mine);
            EXPECT_TRUE(worker.run());
            EXPECT_EQ(worker.failures["40P01"], 0);
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_GE(database().number("SELECT count(*) FROM generations"), 3);
    EXPECT_EQ(effects(), keys);
    expect_no_violations(log);
}
INSTANTIATE_TEST_SUITE_P(Ledgers, ManyWorkers,
                         ::testing::Values(LedgerCase::log, LedgerCase::log_in_one_process),
                         name_of);

}  // namespace
}  // namespace onceward::support
