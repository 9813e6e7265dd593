// What changes in a `table` ledger while it becomes a log: the conversion notices it and looks at
// the ledger again.

#include <future>

#include "tests/integration/dedup/claims/conversion_fixture.h"

namespace onceward::support {
namespace {

using ::testing::HasSubstr;

// An operator may delete old rows of `evictions`. So their number says nothing.
TEST_F(ConversionTest, AClaimThatIsTakenOutIsNoticedThoughEarlierRowsAreDeleted) {
    CoreWorker worker(log_, sink_, automatic("worker"));
    fill(worker);
    take_out("k5");
    int switches = 0;
    convert({.reached = [&](ConversionStep step, std::int64_t, std::int64_t) {
        if (step != ConversionStep::switching || switches++ > 0) return;
        database().execute("DELETE FROM evictions");
        take_out("k6");
    }});
    EXPECT_EQ(switches, 2);
    database().execute("DELETE FROM " + table_ + " WHERE key IN ('k5', 'k6')");
    EXPECT_EQ(apply(worker, 0, 3200), 2);
}

// All claims wait while the switch makes a segment of the open generation.
TEST_F(ConversionTest, AnOpenGenerationThatGrewBeforeTheSwitchIsSealedFirst) {
    CoreWorker worker(log_, sink_, automatic("worker"));
    ASSERT_EQ(apply(worker, 0, 50), 50);
    std::vector<ConversionStep> steps;
    const ConversionReport report = convert(
        {.most_open_claims = 100, .reached = [&](ConversionStep step, std::int64_t, std::int64_t) {
             steps.push_back(step);
             if (steps.size() > 1) return;
             EXPECT_EQ(apply(worker, 50, 400), 400);
         }});
    EXPECT_EQ(steps.front(), ConversionStep::switching);
    EXPECT_EQ(steps.at(1), ConversionStep::rotated);
    EXPECT_EQ(steps.back(), ConversionStep::switched);
    EXPECT_EQ(report.segments, 2);
    EXPECT_EQ(report.claims, 450);
    EXPECT_EQ(apply(worker, 0, 450), 0);
}

TEST_F(ConversionTest, ALedgerThatChangesBeforeEachSwitchStaysATable) {
    CoreWorker worker(log_, sink_, automatic("worker"));
    ASSERT_EQ(apply(worker, 0, 20), 20);
    int switches = 0;
    try {
        convert({.reached = [&](ConversionStep step, std::int64_t, std::int64_t) {
            if (step != ConversionStep::switching) return;
            ++switches;
            rotate();
        }});
        ADD_FAILURE() << "converted";
    } catch (const ConversionRefused& refused) {
        EXPECT_THAT(refused.what(), HasSubstr("changes faster than it is converted"));
    }
    EXPECT_EQ(switches, 50);
    EXPECT_EQ(store(), "table");
    EXPECT_EQ(apply(worker, 0, 20), 0);
}

TEST_F(ConversionTest, AGenerationThatExpiresWhileItsSegmentIsMadeIsLeftOut) {
    CoreWorker worker(log_, sink_, automatic("worker"));
    fill(worker);
    const ConversionReport report =
        convert({.reached = [&](ConversionStep step, std::int64_t generation, std::int64_t) {
            if (step != ConversionStep::tables_made || generation != 1) return;
            database().execute("DELETE FROM generations WHERE generation = 1");
            database().execute("SELECT drop_generation(1, 1)");
        }});
    EXPECT_TRUE(report.converted);
    EXPECT_EQ(report.claims, 2400);
    EXPECT_EQ(tables("(claims|sealed|filters|batches)_1_1"), 0);
    EXPECT_EQ(apply(worker, 800, 2400), 0);
}

// DANGER: the claim's block would not know where its message came from.
TEST_F(ConversionTest, AClaimThatIsInNoBatchEndsTheConversion) {
    CoreWorker worker(log_, sink_, automatic("worker"));
    fill(worker);
    EXPECT_THROW(convert({.reached =
                              [&](ConversionStep step, std::int64_t, std::int64_t) {
                                  if (step != ConversionStep::tables_made) return;
                                  database().execute(
                                      "DELETE FROM batches_1_1 WHERE seq = (SELECT min(seq) "
                                      "FROM batches_1_1)");
                              }}),
                 std::logic_error);
    EXPECT_EQ(store(), "table");
    EXPECT_EQ(apply(worker, 0, 3200), 0);
}

// PostgreSQL ends one of two sessions that wait for each other.
TEST_F(ConversionTest, ADeadlockWhileItSealsTheOpenGenerationIsTriedAgain) {
    CoreWorker worker(log_, sink_, automatic("worker"));
    ASSERT_EQ(apply(worker, 0, 300), 300);
    rotate();
    ASSERT_EQ(apply(worker, 300, 300), 300);
    ConnectionOptions named = schema_.owner();
    named.application_name = "converter";
    Connection converter(named);
    Database other(schema_.server().dsn);
    // It is the converter that finds the deadlock.
    other.execute("SET search_path TO " + schema_.name() + "; SET deadlock_timeout TO '1 min'");
    std::future<void> in_the_way;
    int rotated = 0;
    const ConversionReport report = convert_to_log(
        converter, "ledger",
        {.most_open_claims = 100,
         .sealing = patient_shards,
         .reached = [&](ConversionStep step, std::int64_t, std::int64_t) {
             rotated += step == ConversionStep::rotated ? 1 : 0;
             if (step != ConversionStep::segment_ready || in_the_way.valid()) return;
             // The rotation takes the ledger's lock and then waits for this one.
             other.execute("BEGIN; LOCK TABLE generations IN SHARE MODE");
             in_the_way = std::async(std::launch::async, [&] {
                 EXPECT_TRUE(eventually(10s, [&] { return waits_for_lock("converter"); }));
                 other.execute("SELECT pg_advisory_xact_lock(1330524999, 1)");
                 other.execute("COMMIT");
             });
         }});
    in_the_way.get();
    EXPECT_EQ(rotated, 1);
    EXPECT_TRUE(report.converted);
    EXPECT_GE(report.waited, 900ms) << "the deadlock's time is counted";
    EXPECT_EQ(apply(worker, 0, 600), 0);
}

}  // namespace
}  // namespace onceward::support
