// F21: the sink's table changes under a running worker. The topic stops and says why, nothing that
// was meant for the old table is written to the new one, and when it is fixed it continues by
// itself, within seconds: the slow tries are an hour apart here.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;
using testing::HasSubstr;

// Below the hour of the slow tries, above any load.
constexpr milliseconds within{30'000};

WorkerOptions slow(Scene& scene) {
    WorkerOptions options = scene.options();
    options.first_retry = 1h;
    return options;
}

struct Change {
    std::string name;
    std::string change;
    std::string mended;
    std::string said;  // in the reason
};

class ChangedTable : public testing::TestWithParam<Change> {};

TEST_P(ChangedTable, StopsItsTopicUntilItIsMendedAndGoesOnByItself) {
    Scene scene;
    Worker& worker = scene.start(slow(scene));
    scene.send(50);
    ASSERT_TRUE(scene.all_applied());
    scene.database().execute(GetParam().change);
    scene.send(50);
    EXPECT_TRUE(eventually(within, [&] {
        return Scene::halted(worker, within).find(GetParam().said) != std::string::npos;
    })) << Scene::halted(worker);
    EXPECT_EQ(worker.status().partitions, 1U);
    EXPECT_EQ(scene.database().number("SELECT count(*) FROM dead_letters"), 0);
    scene.database().execute(GetParam().mended);
    EXPECT_TRUE(scene.all_applied(within));
    scene.expect_exact();
}

INSTANTIATE_TEST_SUITE_P(
    Changes, ChangedTable,
    testing::Values(Change{"ColumnDropped", "ALTER TABLE effects DROP COLUMN id",
                           "ALTER TABLE effects ADD COLUMN id bigint", "no column `id`"},
                    Change{"TypeThatNoValueFits",
                           "ALTER TABLE effects ALTER id TYPE point USING NULL",
                           "ALTER TABLE effects ALTER id TYPE bigint USING 0", "`id`"},
                    Change{"RowLevelSecurity", "ALTER TABLE effects ENABLE ROW LEVEL SECURITY",
                           "ALTER TABLE effects DISABLE ROW LEVEL SECURITY", "row level security"},
                    Change{"InsertRevoked",
                           "REVOKE INSERT ON effects FROM PUBLIC, onceward_test_worker",
                           "GRANT INSERT ON effects TO onceward_test_worker", "INSERT"},
                    Change{"TableGone", "ALTER TABLE effects RENAME TO gone",
                           "ALTER TABLE gone RENAME TO effects", "no table"}),
    [](const auto& info) { return info.param.name; });

// A type that binary COPY takes without a word: the next rows are made for it.
TEST(ChangedTables, ATypeThatCopyTakesSilentlyGetsTheRightValues) {
    Scene scene;
    scene.start(slow(scene));
    scene.send(50);
    ASSERT_TRUE(scene.all_applied());
    scene.database().execute("ALTER TABLE effects ALTER id TYPE double precision");
    scene.send(50);
    EXPECT_TRUE(scene.all_applied(within));
    scene.expect_exact();
    EXPECT_EQ(scene.database().number("SELECT count(*) FROM effects WHERE 'key-' || id <> key"), 0);
}

// The sink is prepared again and continues, without an error in the log.
TEST(ChangedTables, AChangeThatFitsStopsNothing) {
    Scene scene;
    Worker& worker = scene.start(slow(scene));
    scene.send(50);
    ASSERT_TRUE(scene.all_applied());
    const CapturedLog log;
    scene.database().execute("ALTER TABLE effects DROP COLUMN id; "
                             "ALTER TABLE effects ADD COLUMN id bigint");
    scene.send(50);
    EXPECT_TRUE(scene.all_applied(within));
    EXPECT_TRUE(log.says("topic.target_changed", 0ms));
    EXPECT_FALSE(log.says("topic.stopped", 0ms)) << log.text();
    EXPECT_TRUE(worker.status().halted.empty());
}

TEST(ChangedTables, AStoppedTopicNamesTheOffsetsOfItsBatch) {
    Scene scene;
    scene.database().execute(
        "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF new.id >= 50 THEN EXECUTE 'SELECT 1 FROM none'; END IF; RETURN new; END $$; "
        "CREATE TRIGGER broken BEFORE INSERT ON effects FOR EACH ROW EXECUTE FUNCTION broken()");
    scene.start(slow(scene));
    scene.send(50);
    ASSERT_TRUE(scene.all_applied());
    const CapturedLog log;
    scene.send(1);
    ASSERT_TRUE(log.says("topic.stopped"));
    EXPECT_TRUE(log.says("batch=\"0:50-51\"", 0ms)) << log.text();
}

TEST(ChangedTables, AnAddedConstraintSendsTheRowsThatBreakItToTheDeadLetters) {
    Scene scene;
    scene.start(slow(scene));
    scene.send(50);
    ASSERT_TRUE(scene.all_applied());
    scene.database().execute("ALTER TABLE effects ADD CHECK (id < 50 OR id % 10 <> 0)");
    scene.send(50);
    EXPECT_TRUE(eventually(within, [&] { return scene.next_offset(0) == 100; }));
    EXPECT_EQ(scene.applied(), 95);
    EXPECT_EQ(scene.database().number("SELECT count(*) FROM dead_letters WHERE sqlstate = '23514' "
                                      "AND record_offset % 10 = 0"),
              5);
}

TEST(ChangedTables, ASqlstateOfTheUsersOwnIsAboutItsRowAndStopsNothing) {
    Scene scene;
    scene.database().execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF new.id = 42 THEN RAISE EXCEPTION 'no' USING ERRCODE = 'SH001'; END IF; "
        "IF new.id = 43 THEN CASE new.id WHEN 1 THEN RETURN new; END CASE; END IF; "
        "RETURN new; END $$; "
        "CREATE TRIGGER refuse BEFORE INSERT ON effects FOR EACH ROW EXECUTE FUNCTION refuse()");
    Worker& worker = scene.start(slow(scene));
    scene.send(100);
    EXPECT_TRUE(eventually(within, [&] { return scene.next_offset(0) == 100; }));
    EXPECT_EQ(scene.applied(), 98);
    EXPECT_EQ(scene.database().value(
                  "SELECT string_agg(sqlstate, ' ' ORDER BY record_offset) FROM dead_letters"),
              "SH001 20000");
    EXPECT_TRUE(worker.status().halted.empty());
}

TEST(ChangedTables, ARowWithoutAPartitionWaitsForItsPartition) {
    Scene scene;
    scene.database().execute(
        "ALTER TABLE effects RENAME TO first; "
        "CREATE TABLE effects (LIKE first INCLUDING ALL) PARTITION BY RANGE (id); "
        "GRANT INSERT ON effects TO onceward_test_worker; "
        "CREATE TABLE may PARTITION OF effects FOR VALUES FROM (0) TO (50)");
    Worker& worker = scene.start(slow(scene));
    scene.send(100);
    EXPECT_THAT(Scene::halted(worker), HasSubstr("23514"));
    EXPECT_EQ(scene.database().number("SELECT count(*) FROM dead_letters"), 0);
    scene.database().execute(
        "CREATE TABLE june PARTITION OF effects FOR VALUES FROM (50) TO (99999)");
    EXPECT_TRUE(scene.all_applied(within));
    scene.expect_exact();
}

TEST(ChangedTables, ATriggerThatIsBrokenIsTriedAgainWhenItsFunctionIsReplaced) {
    Scene scene;
    scene.database().execute(
        "CREATE FUNCTION spoken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "PERFORM no_such_function(); RETURN new; END $$; "
        "CREATE TRIGGER spoken BEFORE INSERT ON effects FOR EACH ROW EXECUTE FUNCTION spoken()");
    Worker& worker = scene.start(slow(scene));
    scene.send(50);
    EXPECT_THAT(Scene::halted(worker), HasSubstr("no_such_function"));
    scene.database().execute(
        "CREATE OR REPLACE FUNCTION spoken() RETURNS trigger LANGUAGE plpgsql "
        "AS $$ BEGIN RETURN new; END $$");
    EXPECT_TRUE(scene.all_applied(within));
    scene.expect_exact();
}

// The writer waits and tries again; nothing is halted, and the member stays.
TEST(ChangedTables, ALockedTableIsWaitedFor) {
    Scene scene;
    WorkerOptions options = slow(scene);
    options.postgres.lock_timeout = 300ms;
    Worker& worker = scene.start(std::move(options));
    scene.send(50);
    ASSERT_TRUE(scene.all_applied());
    const CapturedLog log;
    scene.database().execute("BEGIN; LOCK TABLE effects");
    scene.send(50);
    EXPECT_TRUE(log.says("batch.retried"));
    EXPECT_TRUE(worker.status().halted.empty());
    EXPECT_EQ(worker.status().partitions, 1U);
    scene.database().execute("COMMIT");
    EXPECT_TRUE(scene.all_applied(within));
    scene.expect_exact();
}

}  // namespace
}  // namespace onceward::kafka_tests
