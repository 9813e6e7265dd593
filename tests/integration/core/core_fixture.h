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

    FreshSchema schema_;
    std::string table_ =
        schema_.user_table("effects", std::string(effect_columns) + ", payload text");
    EffectSink sink_{table_};
};

// `count` messages with keys prefix0, prefix1, ... in one partition.
inline void append_keys(ScriptedLog& log, int partition, const std::string& prefix, int count) {
    for (int i = 0; i < count; ++i) log.append(partition, {.key = prefix + std::to_string(i)});
}

}  // namespace onceward::support
