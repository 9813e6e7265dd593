// A table that Citus manages, by what its catalog says: found, written by VALUES alone, and refused
// where it is one of Onceward's own.

#include "dedup/server/server_check.h"
#include "tests/integration/sinks/table_fixture.h"
#include "tests/support/citus.h"

namespace onceward::support {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class ManagedTable : public testing::Test {
  protected:
    using Mode = TableSinkOptions::Mode;

    ManagedTable() {
        options_.table = schema_.user_table(
            "target", "tenant integer NOT NULL, id integer, amount integer, UNIQUE (tenant, id)");
        for (const char* name : {"tenant", "id", "amount"}) {
            options_.columns.push_back({name, {FieldSource::Kind::field, std::string("/") + name}});
        }
        refuse_all_but_values(schema_, "target");
    }
    void write(Sink& sink, TestMessages& messages) {
        ASSERT_EQ(messages.encode(sink), 0);
        OwnedTransaction transaction(connection_);
        sink.write(transaction, {"group", "topic"}, messages.all());
        transaction.commit();
    }
    std::int64_t count() { return schema_.database().number("SELECT count(*) FROM target"); }

    PretendedCitus citus_;
    FreshSchema schema_{citus_.server()};
    Connection connection_{schema_.worker()};
    TableSinkOptions options_;
};

TEST_F(ManagedTable, IsWrittenByValuesWhateverTheConfigurationSays) {
    citus_.manage(options_.table, "tenant");
    for (const auto transport :
         {TableSinkOptions::Transport::copy, TableSinkOptions::Transport::unnest}) {
        options_.transport = transport;
        TableSink sink(options_);
        sink.prepare(connection_);
        TestMessages messages;
        const int tenant = static_cast<int>(transport);
        for (int id = 0; id < 100; ++id) {
            messages.add({integer(tenant), integer(id), integer(1)});
        }
        write(sink, messages);
    }
    EXPECT_EQ(count(), 200);
}

TEST_F(ManagedTable, IsUpsertedByValuesToo) {
    citus_.manage(options_.table, "tenant");
    options_.mode = Mode::upsert;
    options_.conflict_target = {"tenant", "id"};
    TableSink sink(options_);
    sink.prepare(connection_);
    TestMessages messages;
    messages.add({integer(1), integer(1), integer(1)});
    messages.add({integer(1), integer(2), integer(2)});
    messages.add({integer(1), integer(1), integer(3)});
    messages.remove({integer(1), integer(2), Value{}});
    write(sink, messages);
    EXPECT_EQ(schema_.database().value("SELECT string_agg(id || '=' || amount, ' ') FROM target"),
              "1=3");
}

TEST_F(ManagedTable, SaysSoInItsNoteAndAPlainOneSaysNothing) {
    TableSink sink(options_);
    EXPECT_EQ(sink.note(), "");
    sink.prepare(connection_);
    EXPECT_EQ(sink.note(), "");
    citus_.manage(options_.table, "tenant");
    sink.prepare(connection_);
    EXPECT_EQ(sink.note(), "which Citus distributes by `tenant`: rows go by INSERT ... VALUES");
}

// The table is distributed while the topic runs: what COPY would get is seen at the next look at
// the table, which a stopped topic takes by itself. Rows that wait are not encoded again for
// nothing, but they may be.
TEST_F(ManagedTable, ThatBecomesOneIsWrittenByValuesFromTheNextPrepareOn) {
    TableSink sink(options_);
    sink.prepare(connection_);
    TestMessages messages;
    messages.add({integer(1), integer(1), integer(1)});
    ASSERT_EQ(messages.encode(sink), 0);
    EXPECT_THROW(write(sink, messages), PostgresError);
    citus_.manage(options_.table, "tenant");
    sink.prepare(connection_);
    OwnedTransaction transaction(connection_);
    sink.write(transaction, {"group", "topic"}, messages.all());
    transaction.commit();
    EXPECT_EQ(count(), 1);
}

TEST_F(ManagedTable, WithoutAValueForItsDistributionColumnIsAMismatch) {
    schema_.database().execute("ALTER TABLE target ALTER tenant DROP NOT NULL");
    citus_.manage(options_.table, "tenant");
    options_.columns.erase(options_.columns.begin());
    TableSink sink(options_);
    try {
        sink.prepare(connection_);
        FAIL() << "taken";
    } catch (const SinkMismatch& mismatch) {
        EXPECT_THAT(mismatch.what(), HasSubstr("is distributed by column `tenant`"));
    }
}

std::string refusal_of(const ConnectionOptions& options) {
    try {
        Connection connection(options);
        check_server(connection);
        return "";
    } catch (const ServerRefused& refused) {
        return refused.what();
    }
}

TEST(ManagedSchema, IsRefusedWithTheReasonAndAnotherSchemasTableIsNot) {
    PretendedCitus citus;
    FreshSchema schema(citus.server());
    Database database(citus.server().dsn);
    database.execute("CREATE TABLE public.orders (id integer)");
    citus.manage("public.orders", "id");
    EXPECT_EQ(refusal_of(schema.worker()), "");
    citus.manage(schema.name() + ".fences", "", "n", "t", 3);
    EXPECT_THAT(refusal_of(schema.worker()),
                AllOf(HasSubstr("fences, which Citus copies to each node"),
                      HasSubstr("a SELECT may miss claims"), HasSubstr("undistribute_table('")));
    citus.manage(schema.name() + ".claims", "digest");
    EXPECT_THAT(refusal_of(schema.worker()),
                AllOf(HasSubstr("claims, which Citus distributes by `digest`, and 1 more"),
                      HasSubstr("a SELECT may miss claims")));
}

}  // namespace
}  // namespace onceward::support
