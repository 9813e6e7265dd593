// What stays as it was when a `table` ledger becomes a log, and what a conversion refuses.

#include "dedup/retention/retention.h"
#include "tests/integration/dedup/claims/conversion_fixture.h"

namespace onceward::support {
namespace {

using ::testing::HasSubstr;

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
    EXPECT_EQ(job.look(session, ledger_).unlisted, 2);
    EXPECT_EQ(job.look(session, ledger_).dropped, 2);
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
    database().execute(
        "UPDATE ledgers SET store = 'table'; UPDATE generations SET sealed_at = now()");
    EXPECT_THAT(refusal(), HasSubstr("no open generation"));
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

// Another round would not find it.
TEST_F(ConversionTest, RefusesALedgerOneOfWhoseTablesIsMissing) {
    CoreWorker worker(log_, sink_, automatic("worker"));
    fill(worker);
    database().execute("ALTER TABLE claims_1_2 RENAME TO hidden");
    EXPECT_THAT(refusal(), HasSubstr("is missing, though its generation is listed"));
    EXPECT_EQ(store(), "table");
    database().execute("ALTER TABLE hidden RENAME TO claims_1_2");
    EXPECT_TRUE(convert().converted);
    EXPECT_EQ(apply(worker, 0, 3200), 0);
}

// All claims wait while the switch works, and the work would be in vain.
TEST_F(ConversionTest, TheSwitchHasItsTablesBeforeItMakesASegment) {
    CoreWorker worker(log_, sink_, automatic("worker"));
    fill(worker);
    Database dump(schema_.server().dsn);
    dump.execute("BEGIN; SELECT count(*) FROM " + schema_.name() + ".claims_1_2");
    ConnectionOptions named = schema_.owner();
    named.application_name = "switch with a dump";
    Connection converter(named);
    auto conversion = std::async(std::launch::async, [&] {
        return convert_to_log(converter, "ledger", {.sealing = patient_shards});
    });
    EXPECT_TRUE(eventually(10s, [&] { return waits_for_lock("switch with a dump"); }));
    EXPECT_THAT(database().value("SELECT query FROM pg_stat_activity WHERE application_name = "
                                 "'switch with a dump'"),
                HasSubstr("LOCK TABLE"));
    dump.execute("COMMIT");
    EXPECT_TRUE(conversion.get().converted);
    EXPECT_EQ(apply(worker, 0, 3200), 0);
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
