#pragma once
// A `table` ledger that becomes a log, and workers that take the store that it has.

#include <gtest/gtest.h>

#include "dedup/retention/conversion.h"
#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {

using namespace std::chrono_literals;

inline constexpr SealingOptions patient_shards{
    .shard_claims = 700, .lock_timeout = std::chrono::milliseconds(5000), .publish_tries = 20};

class ConversionTest : public CoreTest {
  protected:
    ConversionTest() { registered_ = register_ledger(owner_, ledger_, "group", "topic"); }
    CoreWorkerOptions automatic(const std::string& name) {
        CoreWorkerOptions mine = options(name);
        mine.any_store = true;
        mine.batch_messages = 100;
        return mine;
    }
    // Keys from `first` on, each with a fingerprint if `stamped`.
    void append(int first, int count, bool stamped = true) {
        for (int i = first; i < first + count; ++i) {
            LogEntry message{.key = "k" + std::to_string(i)};
            if (stamped) message.fingerprint = digest_of_bytes(std::to_string(i));
            log_.append(i % log_.partitions(), message);
        }
    }
    std::int64_t apply(CoreWorker& worker, int first, int count, bool stamped = true) {
        const std::int64_t before = worker.totals.applied;
        append(first, count, stamped);
        EXPECT_TRUE(worker.run());
        return worker.totals.applied - before;
    }
    // Three sealed generations and an open one, of 800 claims each.
    void fill(CoreWorker& worker) {
        for (int i = 0; i < 4; ++i) {
            if (i > 0) rotate();
            EXPECT_EQ(apply(worker, 800 * i, 800, i != 2), 800);
        }
    }
    ConversionReport convert(ConversionOptions options = {}) {
        options.sealing = patient_shards;
        return convert_to_log(owner_, "ledger", options);
    }
    std::string store() { return database().value("SELECT store FROM ledgers"); }
    std::string refusal() {
        try {
            convert();
        } catch (const ConversionRefused& refused) {
            return refused.what();
        }
        return "";
    }

    LedgerOptions ledger_{.name = "ledger", .retention = 24h};
    Connection owner_{schema_.owner()};
    RegisteredLedger registered_;
    ScriptedLog log_{2};
};

}  // namespace onceward::support
