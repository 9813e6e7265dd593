// Upserts and removals: as if the messages came one by one, in offset order.

#include <thread>

#include "tests/integration/sinks/table_fixture.h"

namespace onceward::support {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Upsert : public TableSinkTest,
               public testing::WithParamInterface<TableSinkOptions::Transport> {
  protected:
    void SetUp() override {
        options_.transport = GetParam();
        create("id integer PRIMARY KEY, value text, version numeric, unmapped text DEFAULT 'new'",
               {"id", "value", "version"});
        upsert_by({"id"});
    }
    std::vector<std::string> target() {
        return rows("SELECT id, value, version, unmapped FROM target ORDER BY id");
    }
};

TEST_P(Upsert, TheLaterOfABatchWins) {
    TestMessages messages;
    messages.add({integer(1), text("first"), null_value()});
    messages.add({integer(2), text("other"), null_value()});
    messages.add({integer(1), text("last"), null_value()});
    write(messages);
    EXPECT_THAT(target(), ElementsAre("1|last|#|new", "2|other|#|new"));
}

TEST_P(Upsert, AHotKeyNeverMeetsItself) {
    TestMessages messages;
    for (int n = 0; n < 5000; ++n)
        messages.add({integer(n % 3), text(std::to_string(n)), null_value()});
    write(messages);
    EXPECT_THAT(target(), ElementsAre("0|4998|#|new", "1|4999|#|new", "2|4997|#|new"));
}

TEST_P(Upsert, OnlyMappedColumnsOfAnOldRowChange) {
    database().execute("INSERT INTO target VALUES (1, 'old', 1, 'kept')");
    TestMessages messages;
    messages.add({integer(1), text("new"), null_value()});
    write(messages);
    EXPECT_THAT(target(), ElementsAre("1|new|#|kept"));
}

TEST_P(Upsert, OnlyIfNewerKeepsTheHighestVersion) {
    options_.only_if_newer = "version";
    database().execute(
        "INSERT INTO target VALUES (1, 'stored', 5), (2, 'stored', 5), (3, 'stored', NULL),"
        "(4, 'stored', 5)");
    TestMessages messages;
    messages.add({integer(1), text("old"), number("4")});
    messages.add({integer(2), text("nine"), number("9")});
    messages.add({integer(2), text("seven"), number("7")});
    messages.add({integer(3), text("any"), number("1")});
    messages.add({integer(4), text("none"), null_value()});
    messages.add({integer(5), text("first of equals"), number("1.0")});
    messages.add({integer(5), text("second of equals"), number("1.00")});
    messages.add({integer(6), text("none"), null_value()});
    messages.add({integer(6), text("some"), number("0")});
    write(messages);
    EXPECT_THAT(
        rows("SELECT id, value FROM target ORDER BY id"),
        ElementsAre("1|stored", "2|nine", "3|any", "4|stored", "5|first of equals", "6|some"));
}

TEST_P(Upsert, TheOrderOfRemovalsAndUpsertsOfARowDecides) {
    database().execute(
        "INSERT INTO target SELECT n, 'old', 1, 'kept' FROM generate_series(1, 4) n");
    TestMessages messages;
    messages.remove({integer(1), Value{}, Value{}});
    messages.add({integer(2), text("written"), null_value()});
    messages.remove({integer(2), Value{}, Value{}});
    messages.remove({integer(3), Value{}, Value{}});
    messages.add({integer(3), text("again"), null_value()});
    messages.remove({integer(7), Value{}, Value{}});
    messages.add({integer(8), text("fresh"), null_value()});
    write(messages);
    EXPECT_THAT(target(), ElementsAre("3|again|#|new", "4|old|1|kept", "8|fresh|#|new"));
}

TEST_P(Upsert, ARemovalForgetsTheVersion) {
    options_.only_if_newer = "version";
    TestMessages messages;
    messages.add({integer(1), text("nine"), number("9")});
    messages.remove({integer(1), Value{}, Value{}});
    messages.add({integer(1), text("three"), number("3")});
    messages.add({integer(1), text("two"), number("2")});
    write(messages);
    EXPECT_THAT(target(), ElementsAre("1|three|3|new"));
}

// The same random messages, all in one batch and each in a batch of its own, end in the same rows.
TEST_P(Upsert, ABatchIsTheSameAsItsMessagesOneByOne) {
    schema_.user_table("one_by_one", "LIKE target INCLUDING ALL");
    for (const bool newer : {false, true}) {
        options_.only_if_newer = newer ? "version" : "";
        TableSinkOptions single_options = options_;
        single_options.table = schema_.name() + ".one_by_one";
        TableSink single(single_options);
        single.prepare(connection_);
        sink_.reset();
        prepare();
        unsigned random = 7;
        for (int round = 0; round < 20; ++round) {
            TestMessages batch;
            for (int n = 0; n < 40; ++n) {
                random = random * 1103515245 + 12345;
                const int id = static_cast<int>(random >> 16) % 4;
                const int version = static_cast<int>(random >> 20) % 6;
                if ((random >> 24) % 5 == 0) {
                    batch.remove({integer(id), Value{}, Value{}});
                } else {
                    batch.add({integer(id), text(std::to_string(round * 100 + n)),
                               version == 0 ? null_value() : integer(version)});
                }
            }
            write(batch);
            ASSERT_EQ(batch.encode(single), 0);
            const auto all = batch.all();
            for (std::size_t at = 0; at < all.size(); ++at) {
                OwnedTransaction transaction(connection_);
                single.write(transaction, {}, std::span(all).subspan(at, 1));
                transaction.commit();
            }
            ASSERT_EQ(target(),
                      rows("SELECT id, value, version, unmapped FROM one_by_one ORDER BY id"))
                << "round " << round << (newer ? ", only if newer" : "");
        }
    }
}

class KeysOfUpserts : public TableSinkTest,
                      public testing::WithParamInterface<TableSinkOptions::Transport> {};

TEST_P(KeysOfUpserts, KeysThatTheColumnTakesForEqualAreOneRow) {
    options_.transport = GetParam();
    create("a numeric(10,2), b char(4), v integer, UNIQUE (a, b)", {"a", "b", "v"});
    upsert_by({"b", "a"});
    options_.columns[0].conversion.lossy = Lossy::round;
    TestMessages messages;
    messages.add({number("1.0"), text("x"), integer(1)});
    messages.add({number("1.00"), text("x  "), integer(2)});
    messages.add({number("1.001"), text("x"), integer(3)});
    write(messages);
    EXPECT_THAT(rows("SELECT * FROM target"), ElementsAre("1.00|x   |3"));
}

TEST_P(KeysOfUpserts, ACollationWithoutCaseIsRespected) {
    options_.transport = GetParam();
    database().execute(
        "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', "
        "deterministic = false)");
    create("name text COLLATE blind PRIMARY KEY, v integer", {"name", "v"});
    upsert_by({"name"});
    TestMessages messages;
    messages.add({text("ANNA"), integer(1)});
    messages.add({text("anna"), integer(2)});
    write(messages);
    EXPECT_THAT(rows("SELECT v FROM target"), ElementsAre("2"));
}

TEST_P(KeysOfUpserts, AnUpsertOfKeysAloneInsertsOnce) {
    options_.transport = GetParam();
    create("id integer PRIMARY KEY", {"id"});
    upsert_by({"id"});
    TestMessages messages;
    messages.add({integer(1)});
    messages.add({integer(1)});
    write(messages);
    commit(messages);
    EXPECT_EQ(database().number("SELECT count(*) FROM target"), 1);
}

TEST_P(Upsert, AKeyWithoutAValueIsRejected) {
    prepare();
    TestMessages messages;
    messages.add({null_value(), text("x"), null_value()});
    messages.remove({Value{}, Value{}, Value{}});
    EXPECT_EQ(messages.encode(*sink_), 2);
    EXPECT_THAT(first_reason(messages), testing::HasSubstr("column `id` (integer)"));
}

TEST_F(TableSinkTest, InsertModeCannotRemove) {
    create("id integer", {"id"});
    prepare();
    TestMessages messages;
    messages.remove({integer(1)});
    EXPECT_EQ(messages.encode(*sink_), 1);
    EXPECT_EQ(messages[0].rejection->kind, Rejection::Kind::unmappable);
}

const auto transports = testing::Values(TableSinkOptions::Transport::copy,
                                        TableSinkOptions::Transport::values);
const auto name_of_transport = [](const auto& info) {
    return info.param == TableSinkOptions::Transport::copy ? "array" : "values";
};
INSTANTIATE_TEST_SUITE_P(Transports, Upsert, transports, name_of_transport);
INSTANTIATE_TEST_SUITE_P(Transports, KeysOfUpserts, transports, name_of_transport);

// Two workers with the same rows in opposite orders: the rows are written in one order, so neither
// waits in a circle.
TEST_P(Upsert, WorkersThatWriteTheSameRowsDoNotDeadlock) {
    constexpr int rounds = 40;
    constexpr int ids = 300;
    std::vector<std::string> errors(2);
    const auto work = [&](int worker) {
        try {
            Connection session(schema_.worker());
            TableSink sink(options_);
            sink.prepare(session);
            for (int round = 0; round < rounds; ++round) {
                TestMessages messages;
                for (int n = 0; n < ids; ++n) {
                    messages.add({integer(worker == 0 ? n : ids - 1 - n), text("w"), null_value()});
                }
                // A removal of nothing takes the way that locks rows first.
                if (round % 2 == 0) messages.remove({integer(100'000), Value{}, Value{}});
                messages.encode(sink);
                OwnedTransaction transaction(session);
                sink.write(transaction, {}, messages.all());
                transaction.commit();
            }
        } catch (const PostgresError& error) {
            errors[static_cast<std::size_t>(worker)] = error.sqlstate();
        }
    };
    std::thread first(work, 0);
    std::thread second(work, 1);
    first.join();
    second.join();
    EXPECT_THAT(errors, ElementsAre("", ""));
}

}  // namespace
}  // namespace onceward::support
