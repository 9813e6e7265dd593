// Every type that the table sink writes, by each of its transports, read back by PostgreSQL itself.

#include "tests/integration/sinks/table_fixture.h"

namespace onceward::support {
namespace {

struct Sample {
    std::string type;
    Value value;
    std::string printed;
    // What Sink::preview() shows, where the server itself changes the value or its spelling.
    std::optional<std::string> shown = std::nullopt;
};

// Values view their text, so these live as long as the program.
const std::string long_number = "12345678901234567890123456789012345678901234567890.000123400";
const std::string negative_number = "-" + long_number;

const std::vector<Sample> samples{
    {"boolean", boolean(true), "t", "true"},
    {"boolean", text("false"), "f", "false"},
    {"smallint", number("-32768"), "-32768"},
    {"integer", number("2147483647"), "2147483647"},
    {"integer", number("1e3"), "1000"},
    {"bigint", number("9223372036854775807"), "9223372036854775807"},
    {"bigint", number("-9223372036854775808"), "-9223372036854775808"},
    {"bigint", number("9007199254740993"), "9007199254740993"},
    {"bigint", natural(7), "7"},
    {"bigint", real(-3.0), "-3"},
    {"real", number("1.5"), "1.5"},
    {"real", real(0.1), "0.1"},
    {"double precision", number("0.1"), "0.1"},
    {"double precision", number("-1e308"), "-1e+308"},
    {"double precision", text("NaN"), "NaN"},
    {"double precision", text("-Infinity"), "-Infinity"},
    {"numeric", number("0"), "0"},
    {"numeric", number("0.00"), "0.00"},
    {"numeric", number("-0.0001"), "-0.0001"},
    {"numeric", number("10000"), "10000"},
    {"numeric", number("1.50"), "1.50"},
    {"numeric", number("1e20"), "100000000000000000000"},
    {"numeric", number("12e-7"), "0.0000012"},
    {"numeric", number(long_number), long_number},
    {"numeric", text(negative_number), negative_number},
    {"numeric", natural(18446744073709551615u), "18446744073709551615"},
    {"numeric", real(0.1), "0.1"},
    {"numeric", text("NaN"), "NaN"},
    {"numeric", real(-1.0 / 0.0), "-Infinity"},
    {"numeric(10,2)", number("12345.67000"), "12345.67"},
    {"numeric(10,2)", number("-0.5"), "-0.50"},
    {"text", text("p\u00e4r \u20ac \U0001F600"), "p\u00e4r \u20ac \U0001F600"},
    {"text", text(""), ""},
    {"text", number("1.0"), "1.0"},
    {"text", integer(-5), "-5"},
    {"text", boolean(true), "true"},
    {"text", json(R"({"a": [1]})"), R"({"a": [1]})"},
    {"text", timestamp(1714979289500000), "2024-05-06T07:08:09.500000Z"},
    {"varchar(3)", text("\u00e4\u00f6\u00fc"), "\u00e4\u00f6\u00fc"},
    {"varchar(3)", text("abc   "), "abc", "abc   "},
    {"char(4)", text("ab"), "ab  ", "ab"},
    {"bytea", bytes(std::string_view("\0\xff", 2)), "\\x00ff"},
    {"bytea", text("\\x0A0b"), "\\x0a0b"},
    {"bytea", text("AAH/"), "\\x0001ff"},
    {"bytea", text("AA=="), "\\x00"},
    {"uuid", text("6f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"), "6f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"},
    {"uuid", text("{6F1E2D3C4B5A69788796A5B4C3D2E1F0}"), "6f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"},
    {"uuid", bytes("0123456789abcdef"), "30313233-3435-3637-3839-616263646566"},
    {"json", json("{\"a\":  1.0}"), "{\"a\":  1.0}"},
    {"jsonb", json("{\"a\":  1.0}"), "{\"a\": 1.0}", "{\"a\":  1.0}"},
    {"jsonb", text("quote \" and \n line"), "\"quote \\\" and \\n line\"",
     "\"quote \\\" and \\u000a line\""},
    {"jsonb", number("12345678901234567890.5"), "12345678901234567890.5"},
    {"jsonb", boolean(false), "false"},
    {"date", text("2024-02-29"), "2024-02-29"},
    {"date", text("0001-01-01"), "0001-01-01"},
    {"time", text("07:08:09.25"), "07:08:09.25"},
    {"timestamp", text("2024-05-06T07:08:09.123456"), "2024-05-06 07:08:09.123456"},
    {"timestamp", text("1969-12-31 23:59:59Z"), "1969-12-31 23:59:59"},
    {"timestamptz", text("2024-05-06T07:08:09+02:00"), "2024-05-06 05:08:09+00"},
    {"timestamptz", text("2024-05-06T07:08:09.123456000Z"), "2024-05-06 07:08:09.123456+00"},
    {"timestamptz(3)", text("2024-05-06T07:08:09.123Z"), "2024-05-06 07:08:09.123+00"},
    {"timestamptz", timestamp(0), "1970-01-01 00:00:00+00"},
    {"timestamptz", timestamp(-1), "1969-12-31 23:59:59.999999+00"},
    {"mood", text("happy"), "happy"},
    {"positive", number("12"), "12"},
    {"integer[]", json("[1, null, -3]"), "{1,NULL,-3}"},
    {"integer[]", json("[]"), "{}"},
    {"text[]", json(R"(["a,b", "c\"d", "\u00e4", ""])"), "{\"a,b\",\"c\\\"d\",\u00e4,\"\"}"},
    {"numeric[]", json("[9007199254740993.10, 1e2]"), "{9007199254740993.10,100}"},
    {"varchar(2)[]", json("[\"ab\"]"), "{ab}"},
    {"boolean[]", json("[true,false]"), "{t,f}", "{true,false}"},
    {"uuid[]", json("[\"6f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0\"]"),
     "{6f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0}"},
    {"jsonb[]", json("[{\"a\": 1}, 2]"), "{\"{\\\"a\\\": 1}\",2}"},
    {"mood[]", json("[\"sad\"]"), "{sad}"},
    {"positive[]", json("[3]"), "{3}"},
    {"timestamptz[]", json("[\"2024-05-06T07:08:09Z\"]"), "{\"2024-05-06 07:08:09+00\"}"},
};

class Types : public TableSinkTest {
  protected:
    // All samples at once, as columns v1, v2, ... of one table, written in one row and another row
    // of nulls.
    void check(Mode mode, Transport transport) {
        database().execute(
            "SET TimeZone = 'UTC'; CREATE TYPE mood AS ENUM ('happy', 'sad');"
            "CREATE DOMAIN positive AS bigint CHECK (VALUE > 0);");
        const std::vector<Sample>& all = samples;
        std::string columns = "id integer PRIMARY KEY, unmapped text DEFAULT 'default'";
        std::vector<std::string> names{"id"};
        std::vector<Value> values{integer(1)};
        std::vector<Value> nulls{integer(2)};
        for (std::size_t at = 0; at < all.size(); ++at) {
            names.push_back("v" + std::to_string(at));
            columns += ", " + names.back() + " " + all[at].type;
            values.push_back(all[at].value);
            nulls.push_back(at % 2 == 0 ? null_value() : Value{});
        }
        options_.mode = mode;
        options_.transport = transport;
        if (mode == Mode::upsert) options_.conflict_target = {"id"};
        create(columns, names);
        TestMessages messages;
        messages.add(values);
        messages.add(nulls);
        write(messages);
        const std::vector<PreviewField> shown = sink_->preview(messages[0]).at(0).fields;
        const Rows rows = database().execute("SELECT * FROM target ORDER BY id");
        ASSERT_EQ(rows.size(), 2u);
        EXPECT_EQ(rows[0][1], "default");
        for (std::size_t at = 0; at < all.size(); ++at) {
            EXPECT_EQ(rows[0][at + 2], all[at].printed) << all[at].type << ", sample " << at;
            EXPECT_EQ(shown[at + 1].text, all[at].shown.value_or(all[at].printed))
                << all[at].type << ", sample " << at;
            EXPECT_FALSE(rows[1][at + 2].has_value()) << all[at].type << ", sample " << at;
        }
    }
};

TEST_F(Types, CopyWritesEveryTypeAsPostgresqlPrintsIt) { check(Mode::insert, Transport::copy); }
TEST_F(Types, UnnestWritesEveryTypeAsPostgresqlPrintsIt) { check(Mode::insert, Transport::unnest); }
TEST_F(Types, UpsertWritesEveryTypeAsPostgresqlPrintsIt) { check(Mode::upsert, Transport::copy); }
TEST_F(Types, ValuesWriteEveryTypeAsPostgresqlPrintsIt) { check(Mode::insert, Transport::values); }
TEST_F(Types, UpsertByValuesWritesEveryTypeAsPostgresqlPrintsIt) {
    check(Mode::upsert, Transport::values);
}

TEST_F(Types, WholeSourcesAreTakenAsTheyAre) {
    create("a bytea, b jsonb", {"a", "b"});
    options_.columns[0].source = {FieldSource::Kind::header, "raw"};
    options_.columns[1].source = {FieldSource::Kind::payload, ""};
    TestMessages messages;
    messages.add({text("AAH/"), bytes("{\"k\":1}")});
    write(messages);
    EXPECT_THAT(rows("SELECT * FROM target"), testing::ElementsAre("\\x4141482f|{\"k\": 1}"));
}

class LargeBatches : public TableSinkTest,
                     public testing::WithParamInterface<TableSinkOptions::Transport> {};

// 2001 rows are several statements by VALUES, and one by the others.
TEST_P(LargeBatches, ArriveWholeAndInOrder) {
    options_.transport = GetParam();
    create("position bigint GENERATED ALWAYS AS IDENTITY, n integer, t text", {"n", "t"});
    TestMessages messages;
    const std::string filler(1000, 'x');
    for (int n = 0; n < 2001; ++n) messages.add({integer(n), text(filler + std::to_string(n))});
    write(messages);
    EXPECT_EQ(database().number("SELECT count(*) FROM target WHERE position = n + 1 AND t = "
                                "repeat('x', 1000) || n"),
              2001);
}

INSTANTIATE_TEST_SUITE_P(Transports, LargeBatches,
                         testing::Values(TableSinkOptions::Transport::copy,
                                         TableSinkOptions::Transport::unnest,
                                         TableSinkOptions::Transport::values));

}  // namespace
}  // namespace onceward::support
