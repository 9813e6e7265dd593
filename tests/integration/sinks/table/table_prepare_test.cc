// What prepare() refuses, and whether its sentence helps.

#include "tests/integration/sinks/table_fixture.h"

namespace onceward::support {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Prepare : public TableSinkTest {
  protected:
    std::string refused(const std::string& columns, const std::vector<std::string>& mapped) {
        create(columns, mapped);
        return mismatch();
    }
    // A table made by a statement of the test's own, with the rights that a worker needs.
    std::string refused_table(const std::string& statement) {
        database().execute(statement + "; GRANT SELECT, INSERT, UPDATE, DELETE ON target TO " +
                           worker_role);
        options_.table = schema_.name() + ".target";
        map({"id"});
        return mismatch();
    }
};

TEST_F(Prepare, AMissingTableIsNamedWithThoseThatAreThere) {
    schema_.user_table("targets", "id integer");
    options_.table = schema_.name() + ".target";
    map({"id"});
    EXPECT_THAT(mismatch(),
                AllOf(HasSubstr("no table `" + options_.table), HasSubstr("there are: targets, ")));
}

TEST_F(Prepare, AMisspeltColumnIsGuessed) {
    EXPECT_THAT(refused("amount integer", {"amuont"}), HasSubstr("did you mean `amount`?"));
}

TEST_F(Prepare, AnUnloggedTableIsRefused) {
    EXPECT_THAT(refused_table("CREATE UNLOGGED TABLE target (id integer)"), HasSubstr("unlogged"));
}

TEST_F(Prepare, AViewIsRefused) {
    EXPECT_THAT(refused_table("CREATE VIEW target AS SELECT 1 AS id"), HasSubstr("not a plain"));
}

TEST_F(Prepare, ATemporaryTableIsRefused) {
    connection_.execute("CREATE TEMPORARY TABLE target (id integer)");
    options_.table = "target";
    map({"id"});
    EXPECT_THAT(mismatch(), HasSubstr("temporary"));
}

TEST_F(Prepare, AForeignPartitionIsRefused) {
    EXPECT_THAT(
        refused_table(
            "CREATE FOREIGN DATA WRAPPER nowhere; CREATE SERVER far FOREIGN DATA WRAPPER nowhere;"
            "CREATE TABLE target (id integer) PARTITION BY LIST (id);"
            "CREATE FOREIGN TABLE one PARTITION OF target FOR VALUES IN (1) SERVER far"),
        HasSubstr("which is foreign"));
    database().execute("DROP FOREIGN DATA WRAPPER nowhere CASCADE");
}

TEST_F(Prepare, ARowLevelSecurityTableIsRefusedByCopyAlone) {
    create("id integer", {"id"});
    database().execute("ALTER TABLE target ENABLE ROW LEVEL SECURITY");
    EXPECT_THAT(mismatch(), HasSubstr("transport: unnest"));
    options_.transport = Transport::unnest;
    EXPECT_EQ(mismatch(), "");
}

TEST_F(Prepare, ARuleIsRefusedByCopyAlone) {
    create("id integer", {"id"});
    database().execute("CREATE RULE nothing AS ON INSERT TO target DO INSTEAD NOTHING");
    EXPECT_THAT(mismatch(), HasSubstr("has rules"));
    options_.transport = Transport::unnest;
    EXPECT_EQ(mismatch(), "");
}

TEST_F(Prepare, ColumnsThatTheTableFillsItselfAreRefused) {
    EXPECT_THAT(
        refused("id integer GENERATED ALWAYS AS IDENTITY, "
                "twice integer GENERATED ALWAYS AS (2) STORED",
                {"id", "twice"}),
        AllOf(HasSubstr("GENERATED ALWAYS AS IDENTITY"), HasSubstr("generates column `twice`")));
}

TEST_F(Prepare, AnUnmappedColumnThatMustBeFilledIsReported) {
    EXPECT_THAT(refused("id integer, must text NOT NULL, may text NOT NULL DEFAULT ''", {"id"}),
                AllOf(HasSubstr("demands column `must`"), testing::Not(HasSubstr("`may`"))));
}

// Such a row has NULL in the column until it is written, and its default would never be asked for.
TEST_F(Prepare, ADomainThatIsNotNullIsRefusedInAnUnmappedColumnOfRowsThatTravelWhole) {
    database().execute(
        "CREATE DOMAIN filled AS integer NOT NULL DEFAULT 5; CREATE DOMAIN above AS filled");
    create("id integer PRIMARY KEY, first filled, second above DEFAULT 6, may integer DEFAULT 7",
           {"id"});
    const auto both = AllOf(HasSubstr("column `first` of a domain"),
                            HasSubstr("column `second` of a domain"),
                            testing::Not(HasSubstr("`may`")));
    options_.transport = Transport::unnest;
    EXPECT_THAT(mismatch(), AllOf(both, HasSubstr("transport: values")));
    upsert_by({"id"});
    for (const Transport transport : {Transport::copy, Transport::values}) {
        options_.transport = transport;
        EXPECT_THAT(mismatch(), AllOf(both, testing::Not(HasSubstr("transport"))));
    }
    options_.mode = Mode::insert;
    for (const Transport transport : {Transport::copy, Transport::values}) {
        options_.transport = transport;
        EXPECT_EQ(mismatch(), "");
        TestMessages messages;
        messages.add({integer(transport == Transport::copy ? 1 : 2)});
        write(messages);
    }
    EXPECT_THAT(rows("SELECT * FROM target ORDER BY id"),
                testing::ElementsAre("1|5|6|7", "2|5|6|7"));
}

TEST_F(Prepare, ADomainThatIsNotNullIsRefusedIfMessagesRemoveRows) {
    database().execute("CREATE DOMAIN filled AS integer NOT NULL");
    create("id filled PRIMARY KEY, amount filled, other integer NOT NULL",
           {"id", "amount", "other"});
    upsert_by({"id"});
    EXPECT_EQ(mismatch(), "");
    TestMessages messages;
    messages.add({integer(1), integer(2), integer(3)});
    write(messages);
    options_.removes = true;
    EXPECT_THAT(mismatch(), AllOf(HasSubstr("column `amount` of a domain"),
                                  HasSubstr("refuses each removal"),
                                  testing::Not(HasSubstr("`id`")),
                                  testing::Not(HasSubstr("`other`"))));
    database().execute("ALTER TABLE target ALTER amount TYPE integer");
    EXPECT_EQ(mismatch(), "");
    messages.remove({integer(1), Value{}, Value{}});
    write(messages);
    EXPECT_EQ(database().number("SELECT count(*) FROM target"), 0);
}

TEST_F(Prepare, UnsupportedTypesAreNamedWithAWayOut) {
    for (const char* type : {"inet", "interval", "money", "point", "int4range", "timetz", "xml"}) {
        database().execute("DROP TABLE IF EXISTS target");
        EXPECT_THAT(refused("id " + std::string(type), {"id"}), HasSubstr("make it text")) << type;
    }
}

TEST_F(Prepare, AMissingPrivilegeIsNamed) {
    create("id integer PRIMARY KEY", {"id"});
    options_.removes = true;
    upsert_by({"id"});
    database().execute("REVOKE ALL ON target FROM " + std::string(worker_role));
    EXPECT_THAT(mismatch(),
                AllOf(HasSubstr("GRANT INSERT ON"), HasSubstr("GRANT SELECT, UPDATE ON"),
                      HasSubstr("GRANT DELETE ON")));
}

TEST_F(Prepare, InsertAloneIsEnoughForCopy) {
    create("id integer", {"id"});
    database().execute("REVOKE ALL ON target FROM " + std::string(worker_role) +
                       "; GRANT INSERT ON target TO " + worker_role);
    TestMessages messages;
    messages.add({integer(1)});
    write(messages);
    EXPECT_EQ(database().number("SELECT count(*) FROM target"), 1);
}

TEST_F(Prepare, AConflictTargetNeedsItsOwnUniqueIndex) {
    create("a integer, b integer, c integer, UNIQUE (a, b), UNIQUE (c) DEFERRABLE",
           {"a", "b", "c"});
    database().execute("CREATE UNIQUE INDEX ON target (b) WHERE b > 0");
    for (const auto& target : std::vector<std::vector<std::string>>{{"a"}, {"b"}, {"c"}}) {
        upsert_by(target);
        EXPECT_THAT(mismatch(), HasSubstr("no unique index on exactly")) << target[0];
    }
    upsert_by({"b", "a"});
    EXPECT_EQ(mismatch(), "");
}

TEST_F(Prepare, TheVersionColumnMustBeMapped) {
    create("id integer PRIMARY KEY, version integer", {"id"});
    upsert_by({"id"});
    options_.only_if_newer = "version";
    EXPECT_THAT(mismatch(), HasSubstr("by `version`, which is not mapped"));
}

TEST_F(Prepare, ARecordsTimestampNeedsAColumnOfTime) {
    create("at bigint", {"at"});
    options_.columns[0].source = {FieldSource::Kind::metadata, "timestamp"};
    EXPECT_THAT(mismatch(), HasSubstr("make it timestamptz"));
}

TEST_F(Prepare, NamesAreTakenExactlyAsWritten) {
    database().execute(
        "CREATE TABLE \"Odd \"\"Name\" (\"Select\" integer, \"c1\" integer, position integer, "
        "PRIMARY KEY (\"Select\"))");
    database().execute("GRANT ALL ON \"Odd \"\"Name\" TO " + std::string(worker_role));
    options_.table = schema_.name() + ".Odd \"Name";
    map({"Select", "position", "c1"});
    upsert_by({"Select"});
    TestMessages messages;
    messages.add({integer(1), integer(2), integer(3)});
    messages.remove({integer(9), Value{}, Value{}});
    write(messages);
    EXPECT_THAT(rows("SELECT \"Select\", c1, position FROM \"Odd \"\"Name\""),
                testing::ElementsAre("1|3|2"));
}

}  // namespace
}  // namespace onceward::support
