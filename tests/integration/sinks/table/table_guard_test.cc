// The table changes under the worker (F21): nothing is written into columns that are not what they
// were.

#include <thread>

#include "dedup/postgres/binary.h"
#include "tests/integration/sinks/table_fixture.h"
#include "tests/support/one_waits.h"

namespace onceward::support {
namespace {

class FrozenSessionGuard : public TableSinkTest {
  protected:
    void SetUp() override {
        create("id integer PRIMARY KEY, amount bigint", {"id", "amount"});
        prepare();
        messages_.add({integer(1), integer(4614253070214989087)});  // as a double: 3.14
        ASSERT_EQ(messages_.encode(*sink_), 0);
    }
    TestMessages messages_;
};

// That binary COPY takes it without a word is why the guard is there; should PostgreSQL ever
// refuse, it may go.
TEST_F(FrozenSessionGuard, BinaryCopyItselfTakesAnIntegerForADouble) {
    database().execute("ALTER TABLE target ALTER amount TYPE double precision");
    OwnedTransaction transaction(connection_);
    transaction.copy_begin("COPY " + options_.table + " (id, amount) FROM STDIN (FORMAT binary)");
    transaction.copy_send(binary::copy_header);
    transaction.copy_send(messages_[0].encoded.substr(4));
    transaction.copy_send(binary::copy_trailer);
    transaction.copy_end();
    transaction.commit();
    EXPECT_EQ(database().value("SELECT round(amount::numeric, 2) FROM target"), "3.14");
}

TEST_F(FrozenSessionGuard, ATypeThatCopyTakesSilentlyIsAMismatch) {
    database().execute("ALTER TABLE target ALTER amount TYPE double precision");
    EXPECT_THROW(commit(messages_), SinkMismatch);
    EXPECT_EQ(database().number("SELECT count(*) FROM target"), 0);
}

// Without the look that precedes a COPY.
class AtOnce : public FrozenSessionGuard {
  protected:
    // Whether it landed.
    bool send() {
        const auto statements = sink_->at_once({"group", "topic"}, messages_.all());
        OwnedTransaction transaction(connection_, OwnedTransaction::Begin::with_first);
        try {
            transaction.run_whole(statements.value());
            return true;
        } catch (const PostgresError&) {
            return false;
        }
    }
    // After the change of the table nothing lands, until it is prepared again.
    void expect_refused_after(const std::string& change) {
        ASSERT_TRUE(send());
        database().execute("DELETE FROM target; " + change);
        EXPECT_FALSE(send()) << change;
        EXPECT_EQ(database().number("SELECT count(*) FROM target"), 0) << change;
    }
    void expect_changes_refused() {
        expect_refused_after("ALTER TABLE target ALTER amount TYPE double precision");
        database().execute("ALTER TABLE target ALTER amount TYPE bigint");
        expect_refused_after("ALTER TABLE target ALTER amount TYPE numeric");
        database().execute("ALTER TABLE target ALTER amount TYPE bigint");
        expect_refused_after("ALTER TABLE target DROP amount");
        database().execute("ALTER TABLE target ADD amount bigint");
        prepare();
        expect_refused_after("ALTER TABLE target SET UNLOGGED");
        database().execute("ALTER TABLE target SET LOGGED, ALTER amount TYPE numeric(30,2)");
        prepare();
        // It would be rounded.
        expect_refused_after("ALTER TABLE target ALTER amount TYPE numeric(30,1)");
        prepare();
        EXPECT_TRUE(send());
    }
};

TEST_F(AtOnce, AChangedTableTakesNothing) { expect_changes_refused(); }

// The statement is prepared for the changed table, and the server would convert the values.
TEST_F(AtOnce, ATableThatChangesBeforeItsFirstRowsTakesNothing) {
    database().execute("ALTER TABLE target ALTER amount TYPE numeric(30,1)");
    EXPECT_FALSE(send());
    EXPECT_EQ(database().number("SELECT count(*) FROM target"), 0);
    prepare();
    EXPECT_TRUE(send());
}

// COPY passes by rules and stops at row security. INSERT follows both, and rows might be dropped.
TEST_F(AtOnce, RulesAndRowSecurityThatTheTableGetsAreSeen) {
    expect_refused_after("ALTER TABLE target ENABLE ROW LEVEL SECURITY");
    database().execute("ALTER TABLE target DISABLE ROW LEVEL SECURITY");
    expect_refused_after("CREATE RULE nothing AS ON INSERT TO target DO INSTEAD NOTHING");
    EXPECT_THROW(commit(messages_), SinkMismatch);
}

// Its rows would not survive a crash that the offsets survive.
TEST_F(AtOnce, APartitionThatIsUnloggedIsSeen) {
    database().execute(
        "DROP TABLE target; CREATE TABLE target (id integer, amount bigint) PARTITION BY LIST (id);"
        "CREATE TABLE one PARTITION OF target FOR VALUES IN (1);"
        "GRANT SELECT, INSERT ON target TO " +
        std::string(worker_role));
    prepare();
    expect_refused_after("CREATE UNLOGGED TABLE two PARTITION OF target FOR VALUES IN (2)");
    EXPECT_THROW(commit(messages_), SinkMismatch);
}

TEST_F(AtOnce, AChangedTableTakesNothingWhereItsColumnsMayNotBeSelected) {
    database().execute("REVOKE SELECT ON target FROM " + std::string(worker_role));
    sink_.reset();
    prepare();
    ASSERT_EQ(messages_.encode(*sink_), 0);
    expect_changes_refused();
}

TEST_F(FrozenSessionGuard, RowsEncodedForTheOldTypeAreEncodedAnewAfterPrepare) {
    database().execute("ALTER TABLE target ALTER amount TYPE double precision");
    EXPECT_THROW(commit(messages_), SinkMismatch);
    prepare();
    commit(messages_);
    EXPECT_EQ(database().value("SELECT amount::numeric FROM target"), "4614253070214990000");
}

TEST_F(FrozenSessionGuard, ARowThatNoLongerFitsAfterPrepareIsADataError) {
    database().execute("ALTER TABLE target ALTER amount TYPE smallint");
    prepare();
    EXPECT_EQ(sqlstate_of(messages_), "22000");
}

// The change is on its way when the write begins: checked without the lock, the columns would
// still be the old ones.
TEST_F(FrozenSessionGuard, AChangeThatTheWriteWaitsForIsSeen) {
    Database other(schema_.server().dsn);
    other.execute("BEGIN; ALTER TABLE " + options_.table + " ALTER amount TYPE double precision");
    std::thread writer([&] { EXPECT_THROW(commit(messages_), SinkMismatch); });
    EXPECT_TRUE(waits_for_a_lock(database(), connection_.pid()));
    other.execute("COMMIT");
    writer.join();
    EXPECT_EQ(database().number("SELECT count(*) FROM target"), 0);
}

TEST_F(FrozenSessionGuard, ADroppedColumnIsAMismatchThatPrepareNames) {
    database().execute("ALTER TABLE target DROP amount");
    EXPECT_THROW(commit(messages_), SinkMismatch);
    EXPECT_THAT(mismatch(), testing::HasSubstr("no column `amount`"));
}

TEST_F(FrozenSessionGuard, ColumnsThatSwapNamesAreAMismatch) {
    database().execute("ALTER TABLE target ALTER id TYPE bigint");
    prepare();
    database().execute(
        "ALTER TABLE target RENAME id TO x; ALTER TABLE target RENAME amount TO id;"
        "ALTER TABLE target RENAME x TO amount");
    EXPECT_THROW(commit(messages_), SinkMismatch);
}

TEST_F(FrozenSessionGuard, AnotherTableOfTheSameNameIsAMismatch) {
    database().execute("ALTER TABLE target RENAME TO was_target");
    schema_.user_table("target", "id integer PRIMARY KEY, amount bigint");
    EXPECT_THROW(commit(messages_), SinkMismatch);
}

TEST_F(FrozenSessionGuard, ATableMadeUnloggedIsAMismatch) {
    database().execute("ALTER TABLE target SET UNLOGGED");
    EXPECT_THROW(commit(messages_), SinkMismatch);
}

TEST_F(FrozenSessionGuard, TheTypedArrayIsGuardedAsWell) {
    options_.transport = Transport::unnest;
    sink_.reset();
    prepare();
    ASSERT_EQ(messages_.encode(*sink_), 0);
    database().execute("ALTER TABLE target ALTER amount TYPE double precision");
    EXPECT_THROW(commit(messages_), SinkMismatch);
}

TEST_F(FrozenSessionGuard, AnAddedConstraintRefusesTheRowByItsName) {
    database().execute("ALTER TABLE target ADD CONSTRAINT small CHECK (amount < 10)");
    EXPECT_EQ(sqlstate_of(messages_), "23514");
    EXPECT_EQ(last_error_.constraint, "small");
}

TEST_F(FrozenSessionGuard, RowLevelSecurityTurnedOnStopsCopyAndPrepareSaysWhatToWrite) {
    database().execute("ALTER TABLE target ENABLE ROW LEVEL SECURITY");
    EXPECT_THROW(commit(messages_), SinkMismatch);
    EXPECT_THAT(mismatch(), testing::HasSubstr("`transport: unnest`"));
}

TEST_F(FrozenSessionGuard, RowLevelSecurityRefusesARowOfTheTypedArray) {
    database().execute(
        "ALTER TABLE target ENABLE ROW LEVEL SECURITY;"
        "CREATE POLICY small ON target FOR INSERT WITH CHECK (amount < 10)");
    options_.transport = Transport::unnest;
    sink_.reset();
    prepare();
    ASSERT_EQ(messages_.encode(*sink_), 0);
    EXPECT_EQ(sqlstate_of(messages_), "42501");
}

TEST_F(TableSinkTest, ARowWithoutAPartitionIsACheckViolationWithoutAConstraint) {
    options_.table = schema_.name() + ".target";
    database().execute(
        "CREATE TABLE target (id integer, day date) PARTITION BY RANGE (day);"
        "CREATE TABLE target_may PARTITION OF target FOR VALUES FROM ('2024-05-01') TO "
        "('2024-06-01');"
        "GRANT INSERT ON target TO " +
        std::string(worker_role));
    map({"id", "day"});
    TestMessages good;
    good.add({integer(1), text("2024-05-31")});
    write(good);
    TestMessages bad;
    bad.add({integer(2), text("2024-06-01")});
    ASSERT_EQ(bad.encode(*sink_), 0);
    EXPECT_EQ(sqlstate_of(bad), "23514");
    EXPECT_EQ(last_error_.constraint, "");
    EXPECT_EQ(database().number("SELECT count(*) FROM target_may"), 1);
}

TEST_F(TableSinkTest, AnUnloggedPartitionAddedLaterIsAMismatch) {
    options_.table = schema_.name() + ".target";
    database().execute(
        "CREATE TABLE target (id integer) PARTITION BY LIST (id);"
        "CREATE TABLE one PARTITION OF target FOR VALUES IN (1);"
        "GRANT INSERT ON target TO " +
        std::string(worker_role));
    map({"id"});
    prepare();
    TestMessages messages;
    messages.add({integer(1)});
    ASSERT_EQ(messages.encode(*sink_), 0);
    commit(messages);
    database().execute("CREATE UNLOGGED TABLE two PARTITION OF target FOR VALUES IN (2)");
    EXPECT_THROW(commit(messages), SinkMismatch);
    EXPECT_THAT(mismatch(), testing::HasSubstr("has the partition"));
}

}  // namespace
}  // namespace onceward::support
