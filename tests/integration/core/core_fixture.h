#pragma once
// A fresh schema with a sink's table, and workers without Kafka on it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "tests/support/core_harness.h"
#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::support {

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
    std::int64_t fence(int partition) {
        return database().number("SELECT next_offset FROM fences WHERE partition = " +
                                 std::to_string(partition));
    }
    std::int64_t effects(const std::string& where = "true") {
        return database().number("SELECT count(*) FROM " + table_ + " WHERE " + where);
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
    std::shared_ptr<LogWindows> windows_;  // where the workers are of one process
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

// `count` messages with keys prefix0, prefix1, ... in one partition.
inline void append_keys(ScriptedLog& log, int partition, const std::string& prefix, int count) {
    for (int i = 0; i < count; ++i) log.append(partition, {.key = prefix + std::to_string(i)});
}

}  // namespace onceward::support
