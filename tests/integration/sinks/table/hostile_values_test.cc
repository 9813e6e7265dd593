// Values that must be refused, each with its column and a reason, and none with the value itself
// (F23).

#include "tests/integration/sinks/table_fixture.h"

namespace onceward::support {
namespace {

using testing::HasSubstr;
using testing::Not;

class Hostile : public TableSinkTest {
  protected:
    void SetUp() override {
        create(
            "i integer, n numeric, t text, v varchar(3), at timestamptz, u uuid, a integer[], j "
            "jsonb, "
            "f real",
            {"i", "n", "t", "v", "at", "u", "a", "j", "f"});
        prepare();
    }
    std::vector<Value> row(std::size_t field, const Value& value) {
        std::vector<Value> values(9);
        values[field] = value;
        return values;
    }
    std::string reason(std::size_t field, const Value& value) {
        TestMessages messages;
        messages.add(row(field, value));
        messages.encode(*sink_);
        return first_reason(messages);
    }
    // What the server says of one that encode() lets pass.
    std::string server_says(std::size_t field, const Value& value) {
        TestMessages messages;
        messages.add(row(field, value));
        EXPECT_EQ(messages.encode(*sink_), 0) << first_reason(messages);
        return sqlstate_of(messages);
    }
};

TEST_F(Hostile, AreRefusedWithColumnTypeAndReason) {
    EXPECT_THAT(reason(0, number("2147483648")),
                HasSubstr("column `i` (integer): the value is out of"));
    EXPECT_THAT(reason(0, number("1.5")), HasSubstr("not a whole number"));
    EXPECT_THAT(reason(0, text("12x")), HasSubstr("not a number"));
    EXPECT_THAT(reason(0, boolean(true)), HasSubstr("not a whole number"));
    EXPECT_THAT(reason(1, number("1e131072")), HasSubstr("out of"));
    EXPECT_THAT(reason(1, number("1e-16384")), HasSubstr("out of"));
    EXPECT_THAT(reason(1, number("1e999999999999")), HasSubstr("not a number"));
    EXPECT_THAT(reason(2, text(std::string_view("a\0b", 3))), HasSubstr("NUL"));
    EXPECT_THAT(reason(2, text("\xc3(")), HasSubstr("UTF-8"));
    EXPECT_THAT(reason(2, text("\xed\xa0\x80")), HasSubstr("UTF-8"));  // a lone surrogate
    EXPECT_THAT(reason(3, text("abcd")), HasSubstr("longer"));
    EXPECT_THAT(reason(4, number("1714979289")), HasSubstr("ISO 8601"));
    EXPECT_THAT(reason(4, text("2024-05-06T07:08:09")), HasSubstr("offset"));
    EXPECT_THAT(reason(4, text("2024-02-30T07:08:09Z")), HasSubstr("ISO 8601"));
    EXPECT_THAT(reason(4, timestamp(std::numeric_limits<std::int64_t>::min())), HasSubstr("range"));
    EXPECT_THAT(reason(5, text("6f1e2d3c-4b5a-6978-8796-a5b4c3d2e1fg")), HasSubstr("UUID"));
    EXPECT_THAT(reason(6, json("[[1]]")), HasSubstr("scalar"));
    EXPECT_THAT(reason(6, json("{\"a\": 1}")), HasSubstr("JSON array"));
    EXPECT_THAT(reason(6, json("[1, \"x\"]")), HasSubstr("does not fit"));
    EXPECT_THAT(reason(7, bytes("{}")), HasSubstr("raw bytes"));
    EXPECT_THAT(reason(8, number("1e39")), HasSubstr("out of"));
}

TEST_F(Hostile, ReasonsDoNotQuoteTheValue) {
    EXPECT_THAT(reason(0, text("secret-canary")), Not(HasSubstr("canary")));
    EXPECT_THAT(reason(6, json("[\"secret-canary\"]")), Not(HasSubstr("canary")));
}

TEST_F(Hostile, WhatOnlyTheServerCanTellIsADataError) {
    EXPECT_EQ(server_says(7, json("{broken")), "22P02");
    EXPECT_EQ(server_says(7, json("\"\\u0000\"")), "22P05");
}

TEST_F(Hostile, AnArraysLastNumericLimitsPass) {
    TestMessages messages;
    messages.add(row(1, number("1e131071")));
    messages.add(row(1, number("1e-16383")));
    write(messages);
    EXPECT_EQ(database().number("SELECT count(*) FROM target WHERE n = 1e131071 OR n = 1e-16383"),
              2);
}

TEST_F(Hostile, ARequiredColumnThatIsAbsentIsRefusedAndNullIsNot) {
    options_.columns[2].required = true;
    sink_.reset();
    prepare();
    EXPECT_THAT(reason(0, integer(1)), HasSubstr("column `t` (text): the value is missing"));
    EXPECT_EQ(reason(2, null_value()), "");
}

TEST_F(TableSinkTest, ADatabaseThatIsNotUtf8ConvertsOrRefusesText) {
    database().execute(
        "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' "
        "LC_CTYPE 'C'");
    {
        Database latin(schema_.server().dsn + " dbname=latin");
        latin.execute("CREATE TABLE public.target (t text); GRANT INSERT ON target TO " +
                      std::string(worker_role));
        ConnectionOptions elsewhere = schema_.worker();
        elsewhere.dsn = schema_.server().worker_dsn + " dbname=latin";
        Connection session(elsewhere);
        options_.table = "public.target";
        map({"t"});
        TableSink sink(options_);
        sink.prepare(session);
        TestMessages messages;
        messages.add({text("\u00e4")});
        messages.add({text("\u20ac")});
        ASSERT_EQ(messages.encode(sink), 0);
        const auto all = messages.all();
        const auto write_one = [&](std::size_t at) {
            OwnedTransaction transaction(session);
            sink.write(transaction, {}, std::span(all).subspan(at, 1));
            transaction.commit();
        };
        write_one(0);
        EXPECT_EQ(latin.value("SELECT encode(convert_to(t, 'LATIN1'), 'hex') FROM target"), "e4");
        try {
            write_one(1);
            ADD_FAILURE() << "LATIN1 has no euro sign";
        } catch (const PostgresError& error) {
            EXPECT_EQ(error.sqlstate(), "22P05");
        }
    }
    database().execute("DROP DATABASE latin WITH (FORCE)");
}

}  // namespace
}  // namespace onceward::support
