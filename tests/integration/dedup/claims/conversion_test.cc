// A `table` ledger becomes a log: with the same verdicts before and after, whatever happens
// meanwhile.

#include "dedup/retention/conversion.h"

#include <future>

#include "dedup/claims/table_store.h"
#include "dedup/retention/retention.h"
#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

constexpr SealingOptions patient_shards{
    .shard_claims = 700, .lock_timeout = std::chrono::milliseconds(5000), .publish_tries = 20};

class ConversionTest : public CoreTest {
  protected:
    ConversionTest() { registered_ = register_ledger(owner_, ledger_, "group", "topic"); }
    void rotate() {
        database().execute("SELECT rotate_ledger(1, (SELECT max(generation) FROM generations))");
    }
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
    std::int64_t tables(const std::string& pattern) {
        return database().number(
            "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = '" +
            schema_.name() + "'::regnamespace AND relname ~ '^" + pattern + "$'");
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
    ASSERT_TRUE(store_of_before.claim(*transaction, "topic", {&claim, 1}));
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
            before.claim(transaction, "topic", claims);
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
                before.claim(transaction, "topic", others);
            },
            StoreChanged);
        EXPECT_EQ(schema.database().number(after), 0);
        EXPECT_EQ(schema.database().number("SELECT sum(claims) FROM segments"), 1);
    }
}

TEST_F(ConversionTest, NothingExpiresSooner) {
    CoreWorker worker(log_, sink_, automatic("worker"));
    fill(worker);
    const std::string sealed =
        "SELECT string_agg(generation || ' ' || created_at || ' ' || sealed_at, ', ' ORDER BY "
        "generation) FROM generations WHERE sealed_at IS NOT NULL";
    const std::string before = database().value(sealed);
    database().execute("UPDATE ledgers SET memory_begins = '2020-01-01 00:00:00Z'");
    convert();
    // The one that was open is sealed later than its last claim.
    EXPECT_EQ(database().value(sealed + " AND generation < 4"), before);
    EXPECT_EQ(database().value("SELECT sealed_at > (SELECT max(claimed_at) FROM batches_1_4) FROM "
                               "generations WHERE generation = 4"),
              "t");
    EXPECT_EQ(database().value("SELECT memory_begins = '2020-01-01 00:00:00Z' FROM ledgers"), "t");
    // And it does expire: generation by generation, by the log's time.
    database().execute(
        "UPDATE fences SET watermark = (SELECT sealed_at FROM generations WHERE generation = 2) + "
        "interval '24 hours 1 us'; UPDATE ledger_feeds SET partitions = 2, watermark = (SELECT "
        "sealed_at FROM generations WHERE generation = 2) + interval '24 hours 1 us'");
    RetentionJob job({.connection = schema_.worker(), .ledgers = {}});
    Connection session(schema_.worker());
    const RetentionReport report = job.look(session, ledger_);
    EXPECT_EQ(report.unlisted, 2);
    EXPECT_EQ(report.dropped, 2);
    EXPECT_EQ(tables("(sealed|filters|batches)_1_[12]"), 0);
    EXPECT_EQ(tables("(sealed|filters|batches)_1_[34]"), 6);
}

TEST_F(ConversionTest, TheLogIsRotatedSealedAndMergedAsAnother) {
    CoreWorker worker(log_, sink_, automatic("worker"));
    fill(worker);
    convert();
    EXPECT_EQ(apply(worker, 3200, 300), 300);
    rotate();
    EXPECT_EQ(apply(worker, 3500, 300), 300);
    // Its configuration does not say log.
    RetentionJob job({.connection = schema_.worker(),
                      .ledgers = {},
                      .sealing = small_shards,
                      .merge = {.longest = 24h}});
    Connection session(schema_.worker());
    EXPECT_TRUE(job.look(session, ledger_).sealed);
    EXPECT_EQ(
        database().value("SELECT string_agg(claims || ' ' || merge, ', ' ORDER BY generation) "
                         "FROM segments"),
        "3200 1, 300 0")
        << "the tables' segments are one";
    EXPECT_EQ(apply(worker, 0, 3800), 0);
    CoreWorker late(log_, sink_, automatic("late"));
    EXPECT_EQ(apply(late, 0, 3800), 0);
    expect_no_violations(log_);
}

TEST_F(ConversionTest, AClaimThatIsTakenOutStaysOut) {
    CoreWorker worker(log_, sink_, automatic("worker"));
    fill(worker);
    const auto take_out = [&](const std::string& key) {
        database().execute("SELECT evict_claims(1, ARRAY['" + uuid_text(scripted_digest(key)) +
                           "'::uuid], 'a test')");
    };
    bool before = false;
    bool between = false;
    std::vector<std::int64_t> ready;
    convert({.reached = [&](ConversionStep step, std::int64_t generation, std::int64_t) {
        if (step == ConversionStep::segment_ready) ready.push_back(generation);
        if (step == ConversionStep::segment_ready && generation == 2 && !before) {
            before = true;
            take_out("k5");
        }
        if (step == ConversionStep::switching && !between) {
            between = true;
            take_out("k1605");
        }
    }});
    EXPECT_EQ(ready, (std::vector<std::int64_t>{1, 2, 1, 3, 3}));
    take_out("k805");
    take_out("k2405");
    EXPECT_EQ(database().number("SELECT count(*) FROM evictions"), 4);
    database().execute("DELETE FROM " + table_ + " WHERE key IN ('k5', 'k805', 'k1605', 'k2405')");
    EXPECT_EQ(apply(worker, 0, 3200), 4);
}

TEST_F(ConversionTest, RefusesWhatNeedsTheTables) {
    database().execute(
        "INSERT INTO ledger_feeds (ledger, consumer_group, topic, longest_request) "
        "VALUES (1, 'once()', 'ledger', '1 s')");
    EXPECT_THAT(refusal(), HasSubstr("calls claim in ledger ledger (once() ledger)"));
    database().execute("UPDATE ledger_feeds SET retired_at = now() WHERE longest_request > '0'");
    database().execute("SELECT begin_results(1)");
    EXPECT_THAT(refusal(), HasSubstr("stores results"));
    EXPECT_EQ(store(), "table");
    database().execute("UPDATE ledgers SET stores_results = false, store = 'lease'");
    EXPECT_THAT(refusal(), HasSubstr("has the store lease"));
    EXPECT_THROW(convert_to_log(owner_, "no such ledger"), ConversionRefused);
}

// A feed that is registered while the segments are made.
TEST_F(ConversionTest, RefusesAFeedOfRequestsThatCameMeanwhile) {
    CoreWorker worker(log_, sink_, automatic("worker"));
    fill(worker);
    try {
        convert({.reached = [&](ConversionStep step, std::int64_t, std::int64_t) {
            if (step != ConversionStep::switching) return;
            Connection route(schema_.worker());
            register_requests(route, ledger_, "group", "POST /orders", 1s);
        }});
        ADD_FAILURE() << "converted";
    } catch (const ConversionRefused& refused) {
        EXPECT_THAT(refused.what(), HasSubstr("POST /orders"));
    }
    EXPECT_EQ(store(), "table");
    EXPECT_EQ(apply(worker, 0, 3200), 0);
}

TEST_F(ConversionTest, OneProcessAtATime) {
    bool asked = false;
    append(0, 1);
    convert({.reached = [&](ConversionStep step, std::int64_t, std::int64_t) {
        if (step != ConversionStep::switching) return;
        asked = true;
        Connection second(schema_.owner());
        try {
            convert_to_log(second, "ledger");
            ADD_FAILURE() << "two at once";
        } catch (const ConversionRefused& refused) {
            EXPECT_THAT(refused.what(), HasSubstr("another process converts"));
        }
    }});
    EXPECT_TRUE(asked);
}

TEST_F(ConversionTest, NeedsTheSchemasOwner) {
    Connection worker(schema_.worker());
    EXPECT_THROW(convert_to_log(worker, "ledger"), ConversionRefused);
    EXPECT_EQ(store(), "table");
}

// A dump reads a table for hours. Claims continue meanwhile.
TEST_F(ConversionTest, GivesWayToASessionThatReadsATable) {
    CoreWorker worker(log_, sink_, automatic("worker"));
    fill(worker);
    Database dump(schema_.server().dsn);
    dump.execute("BEGIN; SELECT count(*) FROM " + schema_.name() + ".claims_1_2");
    const ConversionOptions brief{.sealing = {.lock_timeout = 20ms, .publish_tries = 3}};
    EXPECT_THROW(convert_to_log(owner_, "ledger", brief), ConversionRefused);
    EXPECT_EQ(store(), "table");
    EXPECT_EQ(apply(worker, 3200, 100), 100);
    dump.execute("COMMIT");
    EXPECT_TRUE(convert_to_log(owner_, "ledger", brief).converted);
    EXPECT_EQ(apply(worker, 0, 3300), 0);
}

// An explicit store that the ledger does not have is refused, and the way out is named.
TEST_F(ConversionTest, AnotherStoreIsRefusedWithTheWayOut) {
    const auto refused = [&](StoreKind store) -> std::string {
        LedgerOptions other = ledger_;
        other.store = store;
        try {
            register_ledger(owner_, other, "group", "topic");
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_THAT(refused(StoreKind::log), HasSubstr("`onceward ledger convert` makes it a log"));
    convert();
    EXPECT_THAT(refused(StoreKind::table), HasSubstr("write `store: auto` or `store: log`"));
    EXPECT_EQ(refused(StoreKind::log), "");
}

}  // namespace
}  // namespace onceward::support
