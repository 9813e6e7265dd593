#pragma once
// A fresh schema with a sink's table, and workers without Kafka on it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "dedup/ledger/ledger.h"
#include "dedup/retention/sealing.h"
#include "tests/support/core_harness.h"
#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::support {

// A claim of a key of the scripted log, from the first offset of a partition.
inline Claim claim_of(const std::string& key, std::optional<Digest> fingerprint = std::nullopt,
                      int partition = 0) {
    return {scripted_digest(key), fingerprint, Partition{partition}, Offset{0}};
}

class CoreTest : public ::testing::Test {
  protected:
    CoreWorkerOptions options(const std::string& name = "worker") {
        CoreWorkerOptions options;
        options.connection = schema_.worker();
        options.name = name;
        options.store = store_;
        options.reach = reach_;
        if (windows_) options.log_windows = windows_;
        return options;
    }
    Database& database() { return schema_.database(); }
    // For a session of the worker's role that waits_for_lock() can be asked about.
    ConnectionOptions named(const std::string& application) {
        ConnectionOptions options = schema_.worker();
        options.application_name = application;
        return options;
    }
    std::uint16_t server_port() {
        return static_cast<std::uint16_t>(database().number("SELECT inet_server_port()"));
    }
    std::int64_t fence(int partition) {
        return database().number("SELECT next_offset FROM fences WHERE partition = " +
                                 std::to_string(partition));
    }
    std::int64_t effects(const std::string& where = "true") {
        return database().number("SELECT count(*) FROM " + table_ + " WHERE " + where);
    }
    void rotate() {
        database().execute("SELECT rotate_ledger(1, (SELECT max(generation) FROM generations))");
    }
    // How many tables of the schema have a name that matches.
    std::int64_t tables(const std::string& pattern) {
        return database().number(
            "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = '" +
            schema_.name() + "'::regnamespace AND relname ~ '^" + pattern + "$'");
    }
    // As retention does it with what has expired: the log's floor, the list, the tables.
    void drop_first_generation() {
        database().execute(
            "UPDATE ledgers SET log_floor = greatest(log_floor, 1); DELETE FROM generations WHERE "
            "generation = 1");
        database().execute("SELECT drop_generation(1, 1)");
    }
    // Takes the key's claim out of the first ledger. Returns how many there were.
    std::int64_t take_out(const std::string& key) {
        return database().number("SELECT count(*) FROM evict_claims(1, ARRAY['" +
                                 uuid_text(scripted_digest(key)) + "'::uuid], 'a test')");
    }
    void expect_no_violations(const ScriptedLog& log, const Expectation& expected = {}) {
        EXPECT_THAT(violations(schema_, log, table_, expected), ::testing::IsEmpty());
    }
    // Whether a session of that application waits for a lock.
    bool waits_for_lock(const std::string& application) {
        return database().number(
                   "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = "
                   "'Lock' AND application_name = '" +
                   application + "'") > 0;
    }

    StoreKind store_ = StoreKind::table;
    Reach reach_ = Reach::global;
    std::shared_ptr<LogWindows> windows_;  // set if the workers are of one process
    FreshSchema schema_;
    std::string table_ =
        schema_.user_table("effects", std::string(effect_columns) + ", payload text");
    EffectSink sink_{table_};
};

// The ledgers that keep the same promises, with whatever store; log_of_partitions keeps them in
// each partition.
enum class LedgerCase { table, log, log_in_one_process, log_of_partitions };
inline std::string name_of(const ::testing::TestParamInfo<LedgerCase>& parameter) {
    const char* const names[] = {"Table", "Log", "LogInOneProcess", "LogOfPartitions"};
    return names[static_cast<int>(parameter.param)];
}
inline const auto every_ledger =
    ::testing::Values(LedgerCase::table, LedgerCase::log, LedgerCase::log_in_one_process);

class LedgerTest : public CoreTest, public ::testing::WithParamInterface<LedgerCase> {
  protected:
    LedgerTest() {
        if (GetParam() != LedgerCase::table) store_ = StoreKind::log;
        if (GetParam() == LedgerCase::log_in_one_process) {
            windows_ = std::make_shared<LogWindows>();
        }
        if (GetParam() == LedgerCase::log_of_partitions) reach_ = Reach::partition;
    }
};

// Segments are cut in several filters, though a test has few claims.
inline constexpr SealingOptions small_shards{.shard_claims = 700};

// A log's ledger, and a session that seals it.
class SealingTest : public CoreTest {
  protected:
    explicit SealingTest(Reach reach) {
        using namespace std::chrono_literals;
        store_ = StoreKind::log;
        reach_ = reach;
        ledger_ = {.name = "ledger", .store = StoreKind::log, .reach = reach, .retention = 24h};
        registered_ = register_ledger(leader_, ledger_, "group", "topic");
    }
    CoreWorkerOptions in_batches(const std::string& name) {
        CoreWorkerOptions mine = options(name);
        mine.batch_messages = 300;
        return mine;
    }
    // Ends the generation, and makes a segment of it.
    void seal(const SealingOptions& options = small_shards) {
        rotate();
        ASSERT_TRUE(seal_oldest(leader_, registered_.ledger, options).sealed);
        ASSERT_EQ(drop_sealed_logs(leader_, registered_.ledger), 1);
    }
    // A worker for each of the two partitions, while one generation after another is sealed.
    void run_through_the_sealing(
        const ScriptedLog& log, const std::function<void()>& after_each = [] {}) {
        using namespace std::chrono_literals;
        std::atomic<bool> done{false};
        std::atomic<int> sealed{0};
        std::vector<std::thread> threads;
        for (const int partition : {0, 1}) {
            threads.emplace_back([&, partition] {
                CoreWorkerOptions mine = options("worker " + std::to_string(partition));
                mine.partitions = {partition};
                mine.batch_messages = 40;
                CoreWorker worker(log, sink_, mine);
                while (worker.step()) {
                    // No worker is done before its part of the sealing, however slow that is.
                    eventually(20s, [&] { return sealed >= worker.totals.applied / 500; });
                    // Every few batches memory is read again, half of the time from segments.
                    if (worker.totals.applied % 5 == 0) worker.lose_connection();
                }
            });
        }
        auto sealing = std::async(std::launch::async, [&] {
            while (!done) {
                rotate();
                sealed += seal_oldest(leader_, registered_.ledger, small_shards).sealed ? 1 : 0;
                drop_sealed_logs(leader_, registered_.ledger);
                after_each();
                eventually(200ms, [&] { return done.load(); });
            }
        });
        for (std::thread& thread : threads) thread.join();
        done = true;
        sealing.get();
        EXPECT_GT(sealed, 3);
        expect_no_violations(log);
    }

    Connection leader_{schema_.worker()};
    LedgerOptions ledger_;
    RegisteredLedger registered_;
};

// Runs until the topic halts; what it says then. None if it does not, which fails the test.
inline std::optional<TopicHalted> halt_of(CoreWorker& worker) {
    try {
        worker.run();
    } catch (const TopicHalted& halted) {
        return halted;
    }
    ADD_FAILURE() << "the topic did not halt";
    return std::nullopt;
}

// `count` messages with keys prefix0, prefix1, ... in one partition.
inline void append_keys(ScriptedLog& log, int partition, const std::string& prefix, int count) {
    for (int i = 0; i < count; ++i) log.append(partition, {.key = prefix + std::to_string(i)});
}

}  // namespace onceward::support
