// Conversions and lossy columns against a real table: what lands, what is refused, and that
// rounding is PostgreSQL's own.

#include "sinks/columns/conversion.h"
#include "tests/integration/sinks/table_fixture.h"

namespace onceward::support {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = Conversion::Kind;

class Conversions : public TableSinkTest {
  protected:
    Conversions() { database().execute("SET TimeZone = 'UTC'"); }

    ColumnConversion& of(std::size_t column) { return options_.columns[column].conversion; }
    void convert(std::size_t column, Conversion step) {
        of(column).steps.push_back(std::move(step));
    }
    // The reason why the message is refused; '' if it is not.
    std::string refusal(const std::vector<Value>& values) {
        if (!sink_) prepare();
        TestMessages messages;
        messages.add(values);
        messages.encode(*sink_);
        const auto& rejection = messages[0].rejection;
        if (!rejection) return "";
        EXPECT_EQ(rejection->kind, Rejection::Kind::unmappable);
        return rejection->reason;
    }
};

TEST_F(Conversions, LandAsTheTypesOfTheirColumns) {
    for (const auto& [mode, transport] :
         {std::pair(Mode::insert, Transport::copy), std::pair(Mode::insert, Transport::unnest)}) {
        database().execute("DROP TABLE IF EXISTS target");
        sink_.reset();
        options_.mode = mode;
        options_.transport = transport;
        create("at timestamptz, day date, clock time, amount numeric(12,2), raw bytea, state text",
               {"at", "day", "clock", "amount", "raw", "state"});
        convert(0, {.kind = Kind::epoch_millis});
        convert(1, {.kind = Kind::epoch_days});
        convert(2, {.kind = Kind::epoch_micros});
        convert(3, {.kind = Kind::base64_decimal, .scale = 2});
        convert(4, {.kind = Kind::base64});
        convert(5, {.kind = Kind::lower});
        convert(5, {.kind = Kind::map, .map = {{"a", {Value::Kind::text, "active"}}}});
        of(5).fallback = ConstantValue{Value::Kind::text, "none"};
        TestMessages messages;
        messages.add({integer(1717139289500), integer(19874), integer(25689500000), text("BNI="),
                      text("AAH/"), text("A")});
        messages.add({Value{}, Value{}, Value{}, Value{}, Value{}, Value{}});
        write(messages);
        EXPECT_THAT(rows("SELECT * FROM target ORDER BY at NULLS LAST"),
                    ElementsAre("2024-05-31 07:08:09.5+00|2024-05-31|07:08:09.5|12.34|"
                                "\\x0001ff|active",
                                "#|#|#|#|#|none"));
    }
}

TEST_F(Conversions, DigitsThatTheColumnCannotKeepAreRefusedByName) {
    database().execute("CREATE DOMAIN price AS numeric(6,2)");
    create("amount numeric(12,2), price price, prices numeric(6,2)[], at timestamptz(3)",
           {"amount", "price", "prices", "at"});
    const Value null = null_value();
    EXPECT_THAT(refusal({number("1.005"), null, null, null}),
                testing::AllOf(HasSubstr("column `amount` (numeric(12,2))"),
                               HasSubstr("more digits after the point"),
                               testing::Not(HasSubstr("1.005"))));
    EXPECT_THAT(refusal({null, number("1.005"), null, null}), HasSubstr("column `price`"));
    EXPECT_THAT(refusal({null, null, json("[1.005]"), null}), HasSubstr("column `prices`"));
    EXPECT_THAT(refusal({null, null, null, text("2024-05-31T07:08:09.1234Z")}),
                HasSubstr("column `at`"));
    EXPECT_THAT(refusal({number("10000000000"), null, null, null}), HasSubstr("precision"));
    EXPECT_EQ(refusal({number("1.500"), number("2"), json("[3.1]"),
                       text("2024-05-31T07:08:09.123000Z")}),
              "");
}

// The server casts the text that the message has; the sink sends it already rounded.
TEST_F(Conversions, RoundingIsPostgresqlsOwn) {
    const std::vector<std::string> numbers{"1.005",   "-1.005", "0.004",  "-0.005", "9.995",
                                           "1.0049",  "1e-9",   "99.994", "2.5",    "-99.995",
                                           "1.00500", "0.0",    "12345.675"};
    // PostgreSQL 14 has no negative scale.
    const bool negative =
        database().number("SELECT current_setting('server_version_num')::integer") >= 150000;
    const std::string large = negative ? "numeric(12,-2)" : "numeric(12)";
    create("id integer, amount numeric(12,2), large " + large, {"id", "amount", "large"});
    of(1).lossy = of(2).lossy = Lossy::round;
    TestMessages messages;
    std::string values;
    for (std::size_t at = 0; at < numbers.size(); ++at) {
        messages.add({integer(static_cast<std::int64_t>(at)), number(numbers[at]),
                      number(numbers[at])});
        values += (at == 0 ? "(" : ", (") + std::to_string(at) + ", " + numbers[at] + ")";
    }
    write(messages);
    EXPECT_THAT(rows("SELECT t.*, v.n FROM (VALUES " + values +
                     ") AS v (id, n) JOIN target t USING (id) WHERE (amount, large) IS DISTINCT "
                     "FROM (v.n::numeric(12,2), v.n::" + large + ")"),
                ElementsAre());
}

TEST_F(Conversions, RoundingOfTimesIsPostgresqlsOwn) {
    std::vector<std::string> texts;
    for (const char* fraction : {"0000005", "0000015", "1234565", "9999995", "99999949", "5",
                                 "4995", "9995", "0005", "00050000001", "123456499999",
                                 "123456500001"}) {
        for (const char* second : {"2024-05-31T23:59:59.", "1969-12-31T23:59:59.",
                                   "1999-12-31T23:59:59."}) {
            texts.push_back(second + std::string(fraction) + "Z");
        }
    }
    create("id integer, micros timestamptz, millis timestamptz(3), seconds timestamp(0), "
           "clock time(2)",
           {"id", "micros", "millis", "seconds", "clock"});
    for (std::size_t column = 1; column <= 4; ++column) of(column).lossy = Lossy::round;
    TestMessages messages;
    std::string values;
    std::vector<std::string> clocks;
    for (const std::string& text : texts) clocks.push_back(text.substr(11, text.size() - 12));
    for (std::size_t at = 0; at < texts.size(); ++at) {
        messages.add({integer(static_cast<std::int64_t>(at)), text(texts[at]), text(texts[at]),
                      text(texts[at]), text(clocks[at])});
        values += (at == 0 ? "(" : ", (") + std::to_string(at) + ", '" + texts[at] + "')";
    }
    write(messages);
    EXPECT_THAT(
        rows("SELECT t.*, v.t FROM (VALUES " + values +
             ") AS v (id, t) JOIN target t USING (id) WHERE (micros, millis, seconds, clock) IS "
             "DISTINCT FROM (v.t::timestamptz, v.t::timestamptz(3), rtrim(v.t, 'Z')::timestamp(0), "
             "rtrim(substr(v.t, 12), 'Z')::time(2))"),
        ElementsAre());
}

// What `onceward test` shows is what the table has.
TEST_F(Conversions, APreviewIsPostgresqlsText) {
    create("a numeric(12,2), b numeric(6,3), c timestamptz(3), d numeric(4,0)",
           {"a", "b", "c", "d"});
    of(2).lossy = Lossy::round;
    TestMessages messages;
    messages.add({number("12.5"), number("-7"), text("2024-05-31T07:08:09.1235Z"), number("1e3")});
    write(messages);
    std::string shown;
    const std::vector<PreviewField> fields = sink_->preview(messages[0]).at(0).fields;
    for (const PreviewField& field : fields) {
        shown += (shown.empty() ? "" : "|") + field.text.value_or("#");
    }
    EXPECT_THAT(rows("SELECT * FROM target"), ElementsAre(shown));
    EXPECT_EQ(shown, "12.50|-7.000|2024-05-31 07:08:09.124+00|1000");
}

TEST_F(Conversions, WhatAColumnCannotTakeIsSaidBeforeAnyMessage) {
    create("clock time, note text, n integer", {"clock", "note", "n"});
    convert(0, {.kind = Kind::epoch_days});
    of(1).lossy = Lossy::round;
    of(2).fallback = ConstantValue{Value::Kind::text, "many"};
    EXPECT_THAT(mismatch(),
                testing::AllOf(HasSubstr("`clock` of type time without time zone, which cannot "
                                         "take what `epoch_days` makes"),
                               HasSubstr("`note` of type text, which has `lossy`"),
                               HasSubstr("`n` of type integer, which has a `default` that")));
}

// DANGER: the default of a row's key must not decide which row is removed.
TEST_F(Conversions, ARemovalConvertsItsKeyAndTakesNoDefault) {
    create("id text PRIMARY KEY, n integer", {"id", "n"});
    upsert_by({"id"});
    convert(0, {.kind = Kind::lower});
    of(0).fallback = ConstantValue{Value::Kind::text, "none"};
    convert(1, {.kind = Kind::trim});
    TestMessages rows_first;
    rows_first.add({text("A"), text(" 1 ")});
    rows_first.add({null_value(), integer(2)});
    write(rows_first);
    EXPECT_THAT(rows("SELECT * FROM target ORDER BY id"), ElementsAre("a|1", "none|2"));
    TestMessages removals;
    removals.remove({text("A"), json("{}")});
    write(removals);
    EXPECT_THAT(rows("SELECT * FROM target"), ElementsAre("none|2"));
    TestMessages without_key;
    without_key.remove({null_value(), integer(2)});
    EXPECT_EQ(without_key.encode(*sink_), 1);
    EXPECT_THAT(first_reason(without_key), HasSubstr("identifies the row"));
}

}  // namespace
}  // namespace onceward::support
