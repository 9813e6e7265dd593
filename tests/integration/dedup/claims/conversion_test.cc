// A `table` ledger becomes a log: with the same verdicts before and after, whatever happens
// meanwhile.

#include <future>

#include "dedup/claims/table_store.h"
#include "tests/integration/dedup/claims/conversion_fixture.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

TEST_F(ConversionTest, EveryClaimOfEveryGenerationIsFoundAfterIt) {
    CoreWorker worker(log_, sink_, automatic("worker"));
    fill(worker);
    const ConversionReport report = convert();
    EXPECT_TRUE(report.converted);
    EXPECT_EQ(report.segments, 4);
    EXPECT_EQ(report.claims, 3200);
    EXPECT_EQ(store(), "log");
    EXPECT_EQ(tables("claims_1_[1-4]"), 0);
    EXPECT_EQ(tables("claims_1_[0-9]+"), 1) << "the log's first generation";
    EXPECT_EQ(database().number("SELECT count(*) FROM filters_1_1"), 2) << "cut in two";
    EXPECT_EQ(database().value("SELECT log_floor = (SELECT max(last_seq) FROM segments) FROM "
                               "ledgers"),
              "t")
        << "the log's first batch would have the number of one in a segment";
    // The worker of before, and one that begins now.
    EXPECT_EQ(apply(worker, 0, 3300), 100);
    EXPECT_EQ(worker.store_changes, 1);
    CoreWorker late(log_, sink_, automatic("late"));
    EXPECT_EQ(apply(late, 0, 3300), 0);
    EXPECT_EQ(late.store_changes, 0);
    expect_no_violations(log_);
    // What it does is written down.
    EXPECT_EQ(database().value("SELECT act || ' ' || target || ' ' || details::text FROM audit_log "
                               "WHERE act = 'ledger convert'"),
              R"(ledger convert ledger ledger {"to": "log", "claims": 3200, "segments": 4})");
}

TEST_F(ConversionTest, AnotherFingerprintIsAConflictAndNamesThePlace) {
    CoreWorker worker(log_, sink_, automatic("worker"));
    fill(worker);
    convert();
    // In a segment, in one whose claims have no fingerprints, and in the last table's.
    for (const int key : {8, 1608, 2408}) {
        log_.append(0,
                    {.key = "k" + std::to_string(key), .fingerprint = digest_of_bytes("another")});
    }
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(worker.totals.conflicts, 2);
    EXPECT_EQ(worker.totals.duplicates, 1);
    const Expectation conflicts{.some_rejected = true};
    expect_no_violations(log_, conflicts);
}

TEST_F(ConversionTest, TheNextRunContinuesWhereverTheLastOneWasCutShort) {
    CoreWorker worker(log_, sink_, automatic("worker"));
    fill(worker);
    struct CutShort {};
    int steps = 0;
    int made = 0;
    for (int cut = 1; store() == "table"; ++cut) {
        ASSERT_LT(cut, 100);
        int reached = 0;
        try {
            convert({.reached = [&](ConversionStep step, std::int64_t, std::int64_t) {
                made += step == ConversionStep::tables_made ? 1 : 0;
                ++steps;
                // A little further than the last time.
                if (++reached == 1 + cut % 6 && step != ConversionStep::switched) throw CutShort();
            }});
        } catch (const CutShort&) {
        }
        // Nothing of it is visible before the switch.
        if (store() == "table") {
            EXPECT_EQ(database().number("SELECT count(*) FROM segments"), 0);
            EXPECT_EQ(apply(worker, 100 * cut % 3000, 40), 0);
        }
    }
    EXPECT_GT(steps, 10);
    EXPECT_GT(made, 3) << "one that was cut short is made again";
    EXPECT_EQ(apply(worker, 0, 3200), 0);
    EXPECT_FALSE(convert().converted) << "said twice";
    expect_no_violations(log_);
}

// Killed between the switch and the last filter.
TEST_F(ConversionTest, WithoutItsLastFilterTheLogIsRightAndTheNextRunWritesIt) {
    CoreWorker worker(log_, sink_, automatic("worker"));
    fill(worker);
    struct CutShort {};
    EXPECT_THROW(convert({.reached =
                              [](ConversionStep step, std::int64_t, std::int64_t) {
                                  if (step == ConversionStep::switched) throw CutShort();
                              }}),
                 CutShort);
    EXPECT_EQ(store(), "log");
    EXPECT_EQ(database().number("SELECT count(*) FROM filters_1_4"), 0);
    EXPECT_EQ(apply(worker, 0, 3300), 100);
    // A try that was rolled back leaves a page without a row.
    database().execute("BEGIN; INSERT INTO filters_1_4 (shard, filter) VALUES (0, ''); ROLLBACK");
    ASSERT_GT(database().number("SELECT pg_relation_size('filters_1_4')"), 0);
    EXPECT_FALSE(convert().converted);
    EXPECT_EQ(database().number("SELECT count(*) FROM filters_1_4"), 1);
    CoreWorker late(log_, sink_, automatic("late"));
    EXPECT_EQ(apply(late, 0, 3400), 100);
    expect_no_violations(log_);
}

TEST_F(ConversionTest, ASegmentThatIsReadyIsNotMadeAgain) {
    CoreWorker worker(log_, sink_, automatic("worker"));
    fill(worker);
    struct CutShort {};
    std::vector<std::int64_t> ready;
    const auto note = [&](ConversionStep step, std::int64_t generation, std::int64_t) {
        if (step == ConversionStep::segment_ready) ready.push_back(generation);
        if (step == ConversionStep::segment_ready && ready.size() == 2) throw CutShort();
    };
    EXPECT_THROW(convert({.reached = note}), CutShort);
    convert({.reached = note});
    EXPECT_EQ(ready, (std::vector<std::int64_t>{1, 2, 3}));
}

// Every key comes twice, the second time after the first has landed or at the same time in another
// worker, while the ledger is converted.
TEST_F(ConversionTest, WorkersClaimThroughTheSwitch) {
    ScriptedLog log(2);
    for (int i = 0; i < 12'000; ++i) {
        log.append(i % 2, {.key = "k" + std::to_string(i)});
        log.append((i + i / 7) % 2, {.key = "k" + std::to_string(i * 5 / 6)});
    }
    std::atomic<int> applied{0};
    std::atomic<bool> switched{false};
    std::vector<std::thread> threads;
    std::atomic<int> changes{0};
    for (const int partition : {0, 1}) {
        threads.emplace_back([&, partition] {
            CoreWorkerOptions mine = automatic("worker " + std::to_string(partition));
            mine.partitions = {partition};
            mine.batch_messages = 50;
            mine.on_commit = [&](const FenceMove& move) {
                applied += static_cast<int>(move.totals.applied);
            };
            CoreWorker worker(log, sink_, mine);
            while (worker.step()) {
                // Some are left for the log.
                if (applied > 10'000) {
                    eventually(20s, [&] { return switched.load(); });
                }
            }
            changes += worker.store_changes;
        });
    }
    auto conversion = std::async(std::launch::async, [&] {
        for (int i = 1; i < 4; ++i) {
            eventually(20s, [&] { return applied > 1500 * i; });
            rotate();
        }
        const ConversionReport report = convert({.most_open_claims = 1000});
        switched = true;
        return report;
    });
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(conversion.get().converted);
    EXPECT_EQ(changes, 2);
    EXPECT_EQ(effects(), 12'000);
    expect_no_violations(log);
}

// A transaction that has claimed a key is before the switch, or it is not at all.
TEST_F(ConversionTest, TheSwitchWaitsForAClaimUnderWay) {
    Connection session(schema_.worker());
    TableStore store_of_before(registered_.ledger, registered_.source);
    const Claim claim{scripted_digest("k1"), {}, Partition{0}, Offset{7}};
    auto transaction = std::make_unique<OwnedTransaction>(session);
    ASSERT_TRUE(store_of_before.claim(*transaction, {&claim, 1}));
    ConnectionOptions named = schema_.owner();
    named.application_name = "converter";
    Connection converter(named);
    auto conversion = std::async(std::launch::async, [&] {
        return convert_to_log(converter, "ledger", {.sealing = patient_shards});
    });
    EXPECT_TRUE(eventually(10s, [&] { return waits_for_lock("converter"); }));
    EXPECT_EQ(store(), "table");
    transaction->commit();
    transaction.reset();
    EXPECT_EQ(conversion.get().claims, 1);
    EXPECT_EQ(database().number("SELECT length(digests) FROM sealed_1_1"), 16);
}

TEST_F(ConversionTest, WhoDidNotHearOfItClaimsNothing) {
    for (const bool sealed : {false, true}) {
        SCOPED_TRACE(sealed);
        FreshSchema schema;
        Connection session(schema.worker());
        Connection owner(schema.owner());
        const RegisteredLedger registered = register_ledger(session, ledger_, "group", "topic");
        TableStore before(registered.ledger, registered.source);
        const std::vector<Claim> claims{{scripted_digest("k1"), {}, Partition{0}, Offset{0}}};
        const std::vector<Claim> others{{scripted_digest("k2"), {}, Partition{0}, Offset{1}}};
        for (int i = 0; i < (sealed ? 2 : 1); ++i) {
            OwnedTransaction transaction(session);
            before.claim(transaction, claims);
            transaction.commit();
            if (sealed && i == 0) schema.database().execute("SELECT rotate_ledger(1, 1)");
        }
        const auto plan = before.claim_as_new(others);
        ASSERT_TRUE(plan);
        convert_to_log(owner, "ledger", {.sealing = patient_shards});
        const std::string after = "SELECT coalesce(sum(length(digests)), 0) FROM claims_1_" +
                                  std::string(sealed ? "3" : "2");
        EXPECT_THROW(
            {
                OwnedTransaction transaction(session, OwnedTransaction::Begin::with_first);
                transaction.run_whole(plan->statements);
            },
            PostgresError);
        EXPECT_THROW(
            {
                OwnedTransaction transaction(session);
                before.claim(transaction, others);
            },
            StoreChanged);
        EXPECT_EQ(schema.database().number(after), 0);
        EXPECT_EQ(schema.database().number("SELECT sum(claims) FROM segments"), 1);
    }
}

}  // namespace
}  // namespace onceward::support
