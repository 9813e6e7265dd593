// A claim that was taken out by hand: its key is applied once more, and every other one is not.

#include <atomic>
#include <future>
#include <utility>

#include "dedup/ledger/ledger.h"
#include "dedup/operator/interventions.h"
#include "dedup/retention/sealing.h"
#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

class EvictionTest : public CoreTest {
  protected:
    std::optional<int> forget(const std::string& key, std::chrono::milliseconds limit = 5s) {
        const Digest digest = scripted_digest(key);
        return evict(operator_, 1, {&digest, 1}, "a test", limit);
    }
    // How many of these keys, sent again, were applied.
    std::int64_t apply(CoreWorker& worker, const std::vector<std::string>& keys) {
        const std::int64_t before = effects();
        for (const std::string& key : keys) {
            log_.append(0, {.key = key, .fingerprint = digest_of_bytes(key)});
        }
        EXPECT_TRUE(worker.run());
        return effects() - before;
    }
    std::vector<std::string> keys(int count) {
        std::vector<std::string> keys;
        for (int i = 0; i < count; ++i) keys.push_back("k" + std::to_string(i));
        return keys;
    }
    std::int64_t position(const std::string& group) {
        return database().number("SELECT sum(next_offset) FROM fences WHERE consumer_group = '" +
                                 group + "'");
    }
    // In the open generation, in a sealed one, and again in the open one.
    void expect_forgotten_once(CoreWorker& worker) {
        EXPECT_EQ(apply(worker, keys(50)), 50);
        EXPECT_EQ(forget("k7"), 1);
        EXPECT_EQ(apply(worker, keys(50)), 1);
        database().execute("SELECT rotate_ledger(1, 1)");
        EXPECT_EQ(forget("k8"), 1);
        EXPECT_EQ(forget("k8"), 0);
        EXPECT_EQ(apply(worker, keys(50)), 1);
        EXPECT_EQ(effects("key = 'k7'"), 2);
        EXPECT_EQ(effects("key = 'k8'"), 2);
        EXPECT_EQ(database().number("SELECT count(*) FROM evictions"), 2);
        EXPECT_EQ(worker.totals.conflicts, 0) << "a fingerprint went with another digest";
    }

    ScriptedLog log_{1};
    Connection operator_{schema_.owner()};
};

TEST_F(EvictionTest, ATablesClaimIsFreshAgain) {
    CoreWorker worker(log_, sink_, options());
    expect_forgotten_once(worker);
}

TEST_F(EvictionTest, ALogsClaimIsFreshAgainAlsoToWhoHoldsItInMemory) {
    store_ = StoreKind::log;
    CoreWorker worker(log_, sink_, options());
    expect_forgotten_once(worker);
    CoreWorker late(log_, sink_, options("late"));
    EXPECT_EQ(apply(late, keys(50)), 0);
}

TEST_F(EvictionTest, WithReachPartitionAsWell) {
    store_ = StoreKind::log;
    reach_ = Reach::partition;
    CoreWorker worker(log_, sink_, options());
    expect_forgotten_once(worker);
}

TEST_F(EvictionTest, ASegmentsClaimIsFreshAgainThoughItsFilterSaysPerhaps) {
    store_ = StoreKind::log;
    CoreWorker worker(log_, sink_, options());
    EXPECT_EQ(apply(worker, keys(2000)), 2000);
    database().execute("SELECT rotate_ledger(1, 1)");
    EXPECT_EQ(apply(worker, {"new"}), 1);
    Connection leader(schema_.worker());
    ASSERT_TRUE(seal_oldest(leader, 1).sealed);
    // The log is still there, as after a crash between the two.
    EXPECT_EQ(forget("k7"), 1);
    ASSERT_EQ(drop_sealed_logs(leader, 1), 1);
    EXPECT_EQ(forget("k1999"), 1);
    EXPECT_EQ(database().number("SELECT claims FROM segments"), 1998);
    EXPECT_EQ(apply(worker, keys(2000)), 2);
    EXPECT_EQ(worker.totals.conflicts, 0) << "a block's parts do not belong together";
    CoreWorker late(log_, sink_, options("late"));
    EXPECT_EQ(apply(late, keys(2000)), 0);
    EXPECT_EQ(late.totals.conflicts, 0);
}

TEST_F(EvictionTest, AGenerationThatLostItsOnlyClaimCanBeSealed) {
    store_ = StoreKind::log;
    CoreWorker worker(log_, sink_, options());
    EXPECT_EQ(apply(worker, {"only"}), 1);
    EXPECT_EQ(forget("only"), 1);
    database().execute("SELECT rotate_ledger(1, 1)");
    Connection leader(schema_.worker());
    EXPECT_TRUE(seal_oldest(leader, 1).sealed);
    CoreWorker late(log_, sink_, options("late"));
    EXPECT_EQ(apply(late, {"only"}), 1);
}

// A key may be in each of them; and a part that holds nothing any more is read all the same.
TEST_F(EvictionTest, OfASegmentInPartsEachPartIsSearched) {
    store_ = StoreKind::log;
    reach_ = Reach::partition;
    ScriptedLog log(3);
    const auto apply_to_all = [&](CoreWorker& worker) {
        const std::int64_t before = effects();
        // In one batch the same key is one, whatever its partitions.
        for (const int partition : {0, 1}) {
            for (const std::string& key : keys(1000)) {
                log.append(partition, {.key = key, .fingerprint = digest_of_bytes(key)});
            }
            EXPECT_TRUE(worker.run());
        }
        log.append(2, {.key = "only"});
        EXPECT_TRUE(worker.run());
        return effects() - before;
    };
    CoreWorker worker(log, sink_, options());
    EXPECT_EQ(apply_to_all(worker), 2001);
    database().execute("SELECT rotate_ledger(1, 1)");
    Connection leader(schema_.worker());
    ASSERT_TRUE(seal_oldest(leader, 1).sealed);
    EXPECT_EQ(forget("k7"), 1);
    ASSERT_EQ(drop_sealed_logs(leader, 1), 1);
    EXPECT_EQ(forget("k999"), 1);
    EXPECT_EQ(forget("only"), 1);
    EXPECT_EQ(forget("only"), 0);
    EXPECT_EQ(database().value("SELECT string_agg(claims::text, ' ' ORDER BY part) FROM "
                               "segment_parts"),
              "998 998 0");
    EXPECT_EQ(database().number("SELECT claims FROM segments"), 1996);
    // Two keys in two partitions each, and one in the third; to who remembers and to who reads.
    EXPECT_EQ(apply_to_all(worker), 5);
    EXPECT_EQ(effects("key = 'k7' AND partition = 1"), 2);
    CoreWorker late(log, sink_, options("late"));
    EXPECT_EQ(apply_to_all(late), 0);
    EXPECT_EQ(worker.totals.conflicts + late.totals.conflicts, 0)
        << "a block's columns do not belong together";
}

TEST_F(EvictionTest, APartitionThatLostItsOnlyClaimIsSealedWithTheOthers) {
    store_ = StoreKind::log;
    reach_ = Reach::partition;
    ScriptedLog log(2);
    log.append(0, {.key = "only"});
    log.append(1, {.key = "other"});
    CoreWorker worker(log, sink_, options());
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(forget("only"), 1);
    database().execute("SELECT rotate_ledger(1, 1)");
    Connection leader(schema_.worker());
    EXPECT_TRUE(seal_oldest(leader, 1).sealed);
    EXPECT_EQ(drop_sealed_logs(leader, 1), 1);
    log.append(0, {.key = "only"});
    log.append(1, {.key = "other"});
    CoreWorker late(log, sink_, options("late"));
    ASSERT_TRUE(late.run());
    EXPECT_EQ(effects("key = 'only'"), 2);
    EXPECT_EQ(effects("key = 'other'"), 1);
}

// The claim would be back with the segment, for as long as that is kept.
TEST_F(EvictionTest, ASegmentThatWasBeingBuiltIsNotPublished) {
    store_ = StoreKind::log;
    CoreWorker worker(log_, sink_, options());
    EXPECT_EQ(apply(worker, keys(10)), 10);
    database().execute("SELECT rotate_ledger(1, 1)");
    const std::int64_t counted = database().number("SELECT begin_segment(1, 1)");
    EXPECT_EQ(forget("k7"), 1);
    EXPECT_EQ(
        database().value("SELECT publish_segment(1, 1, " + std::to_string(counted) + ", 10, 0)"),
        "f");
    Connection leader(schema_.worker());
    ASSERT_TRUE(seal_oldest(leader, 1).sealed);
    EXPECT_EQ(database().number("SELECT claims FROM segments"), 9);
}

TEST_F(EvictionTest, WorkersOfOneProcessAllLearnOfIt) {
    store_ = StoreKind::log;
    windows_ = std::make_shared<LogWindows>();
    ScriptedLog log(2);
    CoreWorkerOptions first = options("first");
    first.partitions = {0};
    CoreWorkerOptions second = options("second");
    second.partitions = {1};
    CoreWorker one(log, sink_, first);
    CoreWorker other(log, sink_, second);
    log.append(0, {.key = "a"});
    log.append(1, {.key = "b"});
    ASSERT_TRUE(one.run());
    ASSERT_TRUE(other.run());
    EXPECT_EQ(forget("a"), 1);
    EXPECT_EQ(forget("b"), 1);
    for (const int partition : {0, 1}) {
        for (const char* key : {"a", "b"}) log.append(partition, {.key = key});
    }
    ASSERT_TRUE(one.run());
    ASSERT_TRUE(other.run());
    EXPECT_EQ(effects(), 4);
}

// Whatever a batch is at when a key is taken out: its next copy is applied, and only that one.
TEST_F(EvictionTest, WorkersRunThroughIt) {
    for (const auto& [store, reach] :
         {std::pair(StoreKind::table, Reach::global), std::pair(StoreKind::log, Reach::global),
          std::pair(StoreKind::log, Reach::partition)}) {
        SCOPED_TRACE(static_cast<int>(store) * 2 + static_cast<int>(reach));
        store_ = store;
        reach_ = reach;
        CoreWorkerOptions mine = options(support::unique_name("worker"));
        mine.group = mine.ledger = support::unique_name("group");
        mine.batch_messages = 7;
        ScriptedLog log(1);
        const std::int64_t before = effects();
        for (int i = 0; i < 2000; ++i) log.append(0, {.key = "k" + std::to_string(i % 20)});
        std::atomic<bool> done{false};
        auto working = std::async(std::launch::async, [&] {
            CoreWorker worker(log, sink_, mine);
            const bool ran = worker.run();
            done = true;
            return ran;
        });
        ASSERT_TRUE(eventually(20s, [&] { return effects() >= before + 20; }));
        const auto number = static_cast<int>(
            database().number("SELECT ledger FROM ledgers WHERE name = '" + mine.ledger + "'"));
        std::int64_t evicted = 0;
        std::int64_t seen = 0;
        for (int i = 0; !done; ++i) {
            const Digest digest = scripted_digest("k" + std::to_string(i % 20));
            evicted += evict(operator_, number, {&digest, 1}, "a test", 5s).value_or(0);
            // A worker that is always sent back would never get through.
            EXPECT_TRUE(eventually(20s, [&] {
                const std::int64_t before_this = std::exchange(seen, position(mine.group));
                return done || seen > before_this;
            }));
        }
        EXPECT_TRUE(working.get());
        EXPECT_GT(evicted, 0);
        // Those that were taken out after the key's last copy are gone for good.
        const std::int64_t held = database().number(
            store == StoreKind::table
                ? "SELECT count(*) FROM claims_" + std::to_string(number) + "_1"
                : "SELECT sum(length(digests)) / 16 FROM claims_" + std::to_string(number) + "_1");
        EXPECT_EQ(effects() - before, held + evicted);
    }
}

// Else it would look before the claim is visible, and answer that there is none.
TEST_F(EvictionTest, AClaimInFlightIsWaitedFor) {
    CoreWorker worker(log_, sink_, options());
    EXPECT_EQ(apply(worker, {"k0"}), 1);
    Database holder(schema_.server().dsn);
    holder.execute("BEGIN; SELECT pg_advisory_xact_lock_shared(1330524999, 1)");
    EXPECT_EQ(forget("k0", 50ms), std::nullopt);
    EXPECT_EQ(database().number("SELECT count(*) FROM evictions"), 0);
    auto forgetting = std::async(std::launch::async, [&] { return forget("k0"); });
    EXPECT_TRUE(
        eventually(10s, [&] { return waits_for_lock(operator_.options().application_name); }));
    holder.execute("COMMIT");
    EXPECT_EQ(forgetting.get(), 1);
}

TEST_F(EvictionTest, WithoutAReasonNothingGoes) {
    CoreWorker worker(log_, sink_, options());
    EXPECT_EQ(apply(worker, {"k0"}), 1);
    const Digest digest = scripted_digest("k0");
    EXPECT_THROW(evict(operator_, 1, {&digest, 1}, "", 1s), PostgresError);
    EXPECT_EQ(apply(worker, {"k0"}), 0);
}

}  // namespace
}  // namespace onceward::support
