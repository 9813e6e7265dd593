// Which rows of a batch a table refuses, found by the statements of the sink.

#include "dedup/policy/refusal_search.h"
#include "tests/integration/sinks/table_fixture.h"

namespace onceward::support {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

// The places of the messages, and the SQLSTATE that each was refused with.
using Refused = std::vector<std::pair<std::size_t, std::string>>;

class TableRefusals : public TableSinkTest,
                      public testing::WithParamInterface<TableSinkOptions::Transport> {
  protected:
    TableRefusals() { options_.transport = GetParam(); }
    // The rows of the search itself are rolled back.
    Refused search(TestMessages& messages) {
        if (!sink_) prepare();
        EXPECT_EQ(messages.encode(*sink_), 0);
        const BatchContext context{"group", "topic"};
        OwnedTransaction transaction(connection_);
        const auto all = messages.all();
        Refused places;
        for (const Refusal& refusal :
             search_.run(transaction, {.sink = *sink_, .context = context}, all)) {
            const auto at = std::ranges::find(all, refusal.message) - all.begin();
            places.emplace_back(static_cast<std::size_t>(at), refusal.sqlstate);
        }
        return places;
    }
    // Ids from 0; amounts are positive, but for these.
    void add(TestMessages& messages, int count, const std::vector<int>& bad) {
        for (int id = 0; id < count; ++id) {
            messages.add({integer(id), integer(std::ranges::count(bad, id) > 0 ? -1 : 1)});
        }
    }

    RefusalSearch search_;
};

TEST_P(TableRefusals, AreFoundAgainWithWhatTheLastSearchLearned) {
    create("id integer, amount integer CHECK (amount > 0)", {"id", "amount"});
    EXPECT_FALSE(search_.expects_one_of(500));
    for (int round = 0; round < 3; ++round) {
        TestMessages messages;
        add(messages, 500, {0, 77, 78, 300, 499});
        EXPECT_THAT(search(messages),
                    (ElementsAre(Pair(0, "23514"), Pair(77, "23514"), Pair(78, "23514"),
                                 Pair(300, "23514"), Pair(499, "23514"))));
        EXPECT_TRUE(search_.expects_one_of(500));
        EXPECT_FALSE(search_.expects_one_of(50));
    }
    TestMessages good;
    add(good, 500, {});
    EXPECT_THAT(search(good), IsEmpty());
    EXPECT_FALSE(search_.expects_one_of(500));
}

TEST_P(TableRefusals, OfAUniqueValueAreTheLaterOnesAlsoBesideABadRow) {
    create("id integer UNIQUE, amount integer CHECK (amount > 0)", {"id", "amount"});
    for (int round = 0; round < 2; ++round) {
        TestMessages messages;
        // 3 is refused together with 2 at first, and 60 is not.
        add(messages, 60, {2, 41});
        messages.add({integer(3), integer(1)});
        EXPECT_THAT(search(messages),
                    (ElementsAre(Pair(2, "23514"), Pair(41, "23514"), Pair(60, "23505"))));
    }
}

// A chain of values that stand in each other's way needs more rounds than parts have sizes.
TEST_P(TableRefusals, ThatDependOnEachOtherAreThoseOfOneMessageAfterAnother) {
    create("span integer, amount integer CHECK (amount > 0)", {"span", "amount"});
    database().execute(
        "ALTER TABLE target ADD EXCLUDE USING gist (int4range(span, span + 2) WITH &&)");
    TestMessages messages;
    Refused wanted;
    for (int i = 0; i < 200; ++i) {
        messages.add({integer(i), integer(i == 0 ? -1 : 1)});
        if (i == 0) wanted.emplace_back(0, "23514");
        if (i > 0 && i % 2 == 0) wanted.emplace_back(i, "23P01");
    }
    EXPECT_EQ(search(messages), wanted);
}

// The default of the column that is not mapped takes no null, which is what a row of the table's
// own type has there.
TEST_P(TableRefusals, AreThoseThatCopyWouldRefuse) {
    database().execute("CREATE DOMAIN filled AS integer NOT NULL");
    create("id integer, amount integer CHECK (amount > 0), other filled DEFAULT 5",
           {"id", "amount"});
    TestMessages messages;
    add(messages, 100, {50});
    EXPECT_THAT(search(messages), ElementsAre(Pair(50, "23514")));
}

TEST_P(TableRefusals, AreFoundAmongWhatIsCheckedAtTheEnd) {
    const std::string parents = schema_.user_table("parents", "id integer PRIMARY KEY");
    database().execute("INSERT INTO parents SELECT generate_series(0, 199)");
    create("id integer REFERENCES " + parents +
               " DEFERRABLE INITIALLY DEFERRED, amount integer CHECK (amount > 0)",
           {"id", "amount"});
    TestMessages messages;
    add(messages, 100, {10});
    messages.add({integer(1000), integer(1)});
    messages.add({integer(5), integer(1)});
    EXPECT_THAT(search(messages), (ElementsAre(Pair(10, "23514"), Pair(100, "23503"))));
}

TEST_P(TableRefusals, DoNotCountWhereTheTableItselfWasChanged) {
    create("id integer, amount integer CHECK (amount > 0)", {"id", "amount"});
    prepare();
    database().execute("ALTER TABLE target ALTER amount TYPE bigint");
    TestMessages messages;
    add(messages, 100, {10});
    EXPECT_THROW(search(messages), SinkMismatch);
}

// As a bigint the bytes of a double would be above the limit.
TEST_P(TableRefusals, AreThoseOfTheNewTypeOnceTheTableWasReadAgain) {
    create("id integer, amount bigint CHECK (amount < 100)", {"id", "amount"});
    const auto one_bad = [](TestMessages& messages) {
        for (int id = 0; id < 40; ++id) messages.add({integer(id), integer(id == 9 ? 1000 : 1)});
    };
    TestMessages before;
    one_bad(before);
    EXPECT_THAT(search(before), ElementsAre(Pair(9, "23514")));
    database().execute("ALTER TABLE target ALTER amount TYPE double precision");
    prepare();
    TestMessages after;
    one_bad(after);
    EXPECT_THAT(search(after), ElementsAre(Pair(9, "23514")));
}

TEST_P(TableRefusals, OfAFaultThatAllMeetAreFewTries) {
    create("id integer, amount integer", {"id", "amount"});
    database().execute(
        "CREATE SEQUENCE tries; GRANT USAGE ON SEQUENCE tries TO PUBLIC; CREATE FUNCTION judge() "
        "RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('" +
        schema_.name() +
        ".tries'); EXECUTE 'SELECT 1 FROM none'; RETURN new; END $$; CREATE TRIGGER judges BEFORE "
        "INSERT ON target FOR EACH ROW EXECUTE FUNCTION judge()");
    TestMessages messages;
    add(messages, 1000, {});
    EXPECT_THROW(search(messages), PostgresError);
    EXPECT_LT(database().number("SELECT last_value FROM tries"), 40);
}

INSTANTIATE_TEST_SUITE_P(Transports, TableRefusals,
                         testing::Values(TableSinkOptions::Transport::copy,
                                         TableSinkOptions::Transport::values),
                         [](const auto& info) {
                             return info.param == TableSinkOptions::Transport::copy ? "copy"
                                                                                    : "values";
                         });

}  // namespace
}  // namespace onceward::support
