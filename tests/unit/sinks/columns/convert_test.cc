// What each conversion makes of values at the limits, as PostgreSQL's text of the column.

#include "sinks/columns/convert.h"

#include <gtest/gtest.h>

#include "dedup/base/text.h"
#include "sinks/columns/declared_table.h"
#include "sinks/columns/value_text.h"
#include "tests/conformance/test_messages.h"

// A namespace with a name: files of tests are compiled together.
namespace onceward::conversions {

using support::boolean;
using support::bytes;
using support::integer;
using support::json;
using support::natural;
using support::number;
using support::real;
using support::text;
using support::timestamp;
using Kind = Conversion::Kind;
using namespace std::string_view_literals;

Conversion step(Kind kind) { return {.kind = kind}; }
Conversion cast(CastTarget to) { return {.kind = Kind::cast, .cast = to}; }
Conversion scaled(int scale) { return {.kind = Kind::base64_decimal, .scale = scale}; }

// A value's text in the column, `NULL`, or a `!` and why it does not fit.
std::string into(const char* type_name, const std::vector<Conversion>& steps, Value value,
                 Lossy lossy = Lossy::refuse, Provenance provenance = Provenance::field) {
    const ColumnType type = declared_type(type_name);
    const ColumnConversion conversion{.steps = steps, .lossy = lossy};
    Misfit misfit = convert(conversion, type.kind, value, provenance);
    std::string out;
    if (misfit.empty()) misfit = append_value(value, type, provenance, out, lossy);
    if (!misfit.empty()) return "!" + std::string(misfit);
    return out == "\xff\xff\xff\xff" ? "NULL" : value_text(std::string_view(out).substr(4), type);
}

std::string into(const char* type, Kind kind, const Value& value, Lossy lossy = Lossy::refuse) {
    return into(type, {step(kind)}, value, lossy);
}

bool refused(const std::string& result, std::string_view why) {
    return result.starts_with("!") && result.find(why) != std::string::npos;
}

TEST(Convert, EpochsAreCountsOfTheirUnit) {
    const std::string wanted = "2024-05-31 07:08:09+00";
    EXPECT_EQ(into("timestamptz", Kind::epoch_seconds, number("1717139289")), wanted);
    EXPECT_EQ(into("timestamptz", Kind::epoch_millis, integer(1717139289000)), wanted);
    EXPECT_EQ(into("timestamptz", Kind::epoch_micros, natural(1717139289000000)), wanted);
    EXPECT_EQ(into("timestamptz", Kind::epoch_nanos, text("1717139289000000000")), wanted);
    EXPECT_EQ(into("timestamptz", Kind::epoch_seconds, real(1717139289.5)),
              "2024-05-31 07:08:09.5+00");
    EXPECT_EQ(into("timestamp", Kind::epoch_seconds, number("1.717139289123456e9")),
              "2024-05-31 07:08:09.123456");
    EXPECT_EQ(into("timestamptz", Kind::epoch_days, number("19874")), "2024-05-31 00:00:00+00");
    EXPECT_EQ(into("date", Kind::epoch_days, integer(19874)), "2024-05-31");
    EXPECT_EQ(into("text", Kind::epoch_days, integer(19874)), "2024-05-31");
    EXPECT_EQ(into("jsonb", Kind::epoch_millis, integer(0)), "\"1970-01-01T00:00:00.000000Z\"");
}

TEST(Convert, EpochsBefore1970AreCountedDownwards) {
    EXPECT_EQ(into("timestamptz", Kind::epoch_millis, integer(-1)),
              "1969-12-31 23:59:59.999+00");
    EXPECT_EQ(into("timestamptz", Kind::epoch_seconds, number("-0.000001")),
              "1969-12-31 23:59:59.999999+00");
    EXPECT_EQ(into("date", Kind::epoch_days, integer(-1)), "1969-12-31");
    EXPECT_EQ(into("text", Kind::epoch_nanos, integer(-1)), "1969-12-31T23:59:59.999999999Z");
    EXPECT_EQ(into("text", Kind::epoch_nanos, integer(-1500)), "1969-12-31T23:59:59.9999985Z");
}

TEST(Convert, EpochsReachFromTheYear1To9999) {
    EXPECT_EQ(into("date", Kind::epoch_days, integer(-719162)), "0001-01-01");
    EXPECT_EQ(into("date", Kind::epoch_days, integer(2932896)), "9999-12-31");
    EXPECT_EQ(into("timestamptz", Kind::epoch_seconds, integer(253402300799)),
              "9999-12-31 23:59:59+00");
    const std::string long_number(80, '9');
    for (const auto& [kind, count] :
         std::vector<std::pair<Kind, Value>>{{Kind::epoch_days, integer(-719163)},
                                             {Kind::epoch_days, integer(2932897)},
                                             {Kind::epoch_days, integer(INT64_MAX)},
                                             {Kind::epoch_seconds, integer(253402300800)},
                                             {Kind::epoch_seconds, integer(INT64_MIN)},
                                             {Kind::epoch_millis, integer(INT64_MAX)},
                                             {Kind::epoch_seconds, number("1e300")},
                                             {Kind::epoch_seconds, number("1e-900")},
                                             {Kind::epoch_nanos, number(long_number)}}) {
        EXPECT_TRUE(refused(into("timestamptz", kind, count), "years 1 to 9999"))
            << into("timestamptz", kind, count);
    }
    for (const Value& no_count : {text(""), text("soon"), boolean(true), json("[1]"),
                                  real(1.0 / 0.0), text("12 "), text("2024-05-31")}) {
        EXPECT_TRUE(refused(into("timestamptz", Kind::epoch_millis, no_count), "not a number"));
    }
    EXPECT_TRUE(refused(into("date", Kind::epoch_days, number("1.5")), "whole number of days"));
}

TEST(Convert, WhatIsFinerThanTheColumnIsRefusedRoundedOrCut) {
    const Value nanos = integer(1717139289123456789);
    EXPECT_TRUE(refused(into("timestamptz", Kind::epoch_nanos, nanos), "more digits"));
    EXPECT_EQ(into("timestamptz", Kind::epoch_nanos, nanos, Lossy::round),
              "2024-05-31 07:08:09.123457+00");
    EXPECT_EQ(into("timestamptz", Kind::epoch_nanos, nanos, Lossy::truncate),
              "2024-05-31 07:08:09.123456+00");
    EXPECT_EQ(into("timestamptz", Kind::epoch_nanos, integer(-1), Lossy::truncate),
              "1969-12-31 23:59:59.999999+00");
    EXPECT_EQ(into("text", Kind::epoch_nanos, nanos), "2024-05-31T07:08:09.123456789Z");
    EXPECT_TRUE(refused(into("timestamptz(3)", Kind::epoch_micros, integer(1500)), "more digits"));
    EXPECT_EQ(into("timestamptz(3)", Kind::epoch_micros, integer(1500), Lossy::round),
              "1970-01-01 00:00:00.001+00");  // half away from 2000-01-01, as PostgreSQL rounds
    EXPECT_EQ(into("timestamptz(0)", Kind::epoch_micros, integer(3'000'000)),
              "1970-01-01 00:00:03+00");
}

TEST(Convert, APointInTimeBecomesADateAtMidnightOnly) {
    EXPECT_EQ(into("date", Kind::epoch_millis, integer(1717113600000)), "2024-05-31");
    EXPECT_TRUE(refused(into("date", Kind::epoch_millis, integer(1717139289000)), "midnight"));
    EXPECT_TRUE(refused(into("date", Kind::epoch_millis, integer(1717139289000), Lossy::round),
                        "midnight"));
    EXPECT_EQ(into("date", Kind::epoch_millis, integer(1717139289000), Lossy::truncate),
              "2024-05-31");
    EXPECT_EQ(into("date", Kind::epoch_nanos, integer(-1), Lossy::truncate), "1969-12-31");
}

TEST(Convert, IntoATimeAnEpochCountsFromMidnight) {
    EXPECT_EQ(into("time", Kind::epoch_millis, integer(25689500)), "07:08:09.5");
    EXPECT_EQ(into("time", Kind::epoch_micros, integer(0)), "00:00:00");
    EXPECT_EQ(into("time", Kind::epoch_seconds, integer(86400)), "24:00:00");
    EXPECT_TRUE(refused(into("time", Kind::epoch_nanos, integer(1)), "more digits"));
    EXPECT_TRUE(refused(into("time", Kind::epoch_seconds, integer(86401)), "within a day"));
    EXPECT_TRUE(refused(into("time", Kind::epoch_millis, integer(-1)), "within a day"));
    EXPECT_TRUE(refused(into("time", Kind::epoch_days, integer(1)), "time of day"));
}

TEST(Convert, Base64BecomesItsBytes) {
    EXPECT_EQ(into("bytea", Kind::base64, text("AAH/")), "\\x0001ff");
    EXPECT_EQ(into("bytea", Kind::base64, text("")), "\\x");
    EXPECT_EQ(into("text", Kind::base64, bytes("aGVsbG8=")), "hello");
    EXPECT_TRUE(refused(into("text", Kind::base64, text("AA==")), "NUL"));
    for (const char* broken : {"A", "AAH", "AA=A", "A A=", "\\x00", "\xc3\xa4\xc3\xa4"}) {
        EXPECT_TRUE(refused(into("bytea", Kind::base64, text(broken)), "not base64")) << broken;
    }
    EXPECT_TRUE(refused(into("bytea", Kind::base64, number("1234")), "not base64"));
    // A header is text or bytes by accident; its base64 is what it says.
    EXPECT_EQ(into("bytea", {step(Kind::base64)}, text("AAH/"), Lossy::refuse, Provenance::whole),
              "\\x0001ff");
}

TEST(Convert, ADecimalIsTwosComplementWithItsScale) {
    const std::vector<std::tuple<std::string_view, int, const char*>> cases{
        {"\x00"sv, 2, "0.00"},       {"\x01"sv, 2, "0.01"},
        {"\xff"sv, 2, "-0.01"},      {"\x04\xd2"sv, 2, "12.34"},
        {"\x80"sv, 0, "-128"},       {"\x00\x80"sv, 0, "128"},
        {"\xff\x80"sv, 0, "-128"},
        {"\x7f\xff\xff\xff\xff\xff\xff\xff"sv, 0, "9223372036854775807"},
        {"\x05"sv, -3, "5000"},
    };
    for (const auto& [raw, scale, wanted] : cases) {
        EXPECT_EQ(into("numeric", {scaled(scale)}, bytes(raw)), wanted);
        EXPECT_EQ(into("numeric", {scaled(scale)}, text(base64(raw))), wanted);
    }
    EXPECT_EQ(into("numeric", {scaled(0)}, bytes("\x80\x00\x00\x00\x00\x00\x00\x00\x00"sv)),
              "-2361183241434822606848");
    EXPECT_EQ(into("numeric", {scaled(0)}, bytes("\x01" + std::string(16, '\0'))),
              "340282366920938463463374607431768211456");
    EXPECT_EQ(into("numeric(12,2)", {scaled(4)}, bytes("\x27\x10"sv)), "1.00");
    EXPECT_TRUE(refused(into("numeric(12,2)", {scaled(4)}, bytes("\x27\x11"sv)), "more digits"));
    EXPECT_TRUE(refused(into("numeric", {scaled(0)}, bytes("")), "no bytes"));
    EXPECT_TRUE(refused(into("numeric", {scaled(0)}, text("")), "no bytes"));
    EXPECT_TRUE(refused(into("numeric", {scaled(0)}, text("12")), "not base64"));
    EXPECT_TRUE(refused(into("numeric", {scaled(0)}, bytes(std::string(1025, '\1'))), "1024"));
    EXPECT_EQ(into("numeric", {scaled(0)}, bytes(std::string(1024, '\xff'))), "-1");
    // DANGER: four bytes of a header may be base64 by accident, so they are never taken raw.
    EXPECT_TRUE(refused(into("numeric", {scaled(0)}, bytes("\xff\xfe"), Lossy::refuse,
                             Provenance::whole),
                        "not base64"));
}

TEST(Convert, ADecimalKeepsEachDigitOfItsText) {
    EXPECT_EQ(into("jsonb", Kind::decimal, text("12.50")), "12.50");
    EXPECT_EQ(into("jsonb", Kind::decimal, text("+.5")), "0.5");
    EXPECT_EQ(into("jsonb", Kind::decimal, text("-007.10")), "-7.10");
    EXPECT_EQ(into("jsonb", Kind::decimal, text("1e3")), "1000");
    EXPECT_EQ(into("jsonb", Kind::decimal, text("12e-5")), "0.00012");
    EXPECT_EQ(into("jsonb", Kind::decimal, text("1e500")), "1e500");
    EXPECT_EQ(into("jsonb", Kind::decimal, text("5e-300")), "5e-300");
    EXPECT_EQ(into("jsonb", Kind::decimal, text("0.000")), "0.000");
    EXPECT_EQ(into("numeric", Kind::decimal, real(0.1)), "0.1");
    for (const Value& none : {text(""), text(" 1"), text("1,5"), text("NaN"), boolean(true)}) {
        EXPECT_TRUE(refused(into("numeric", Kind::decimal, none), "not a decimal number"));
    }
}

TEST(Convert, NumericKeepsItsScaleOrSaysThatItCannot) {
    const std::vector<Conversion> none;
    const char* const type = "numeric(12,2)";
    EXPECT_TRUE(refused(into(type, none, number("1.005")), "more digits after the point"));
    EXPECT_EQ(into(type, none, number("1.005"), Lossy::round), "1.01");
    EXPECT_EQ(into(type, none, number("1.005"), Lossy::truncate), "1.00");
    EXPECT_EQ(into(type, none, number("-1.005"), Lossy::round), "-1.01");
    EXPECT_EQ(into(type, none, number("-1.009"), Lossy::truncate), "-1.00");
    EXPECT_EQ(into(type, none, number("9.995"), Lossy::round), "10.00");
    EXPECT_EQ(into(type, none, number("0.001"), Lossy::round), "0.00");
    EXPECT_EQ(into(type, none, number("-0.005"), Lossy::round), "-0.01");
    EXPECT_EQ(into(type, none, number("1.50000")), "1.50");
    EXPECT_EQ(into(type, none, number("3")), "3.00");
    EXPECT_EQ(into(type, none, number("0e-9")), "0.00");
    EXPECT_EQ(into(type, none, number("9999999999.99")), "9999999999.99");
    EXPECT_TRUE(refused(into(type, none, number("10000000000")), "precision"));
    EXPECT_TRUE(refused(into(type, none, number("9999999999.995"), Lossy::round), "precision"));
    EXPECT_EQ(into(type, none, text("NaN")), "NaN");
    EXPECT_TRUE(refused(into(type, none, text("Infinity")), "infinite"));
    EXPECT_EQ(into("numeric(3,-2)", none, number("12300")), "12300");
    EXPECT_TRUE(refused(into("numeric(3,-2)", none, number("12345")), "more digits"));
    EXPECT_EQ(into("numeric(3,-2)", none, number("12350"), Lossy::round), "12400");
    EXPECT_EQ(into("numeric(2,4)", none, number("0.0012")), "0.0012");
    EXPECT_TRUE(refused(into("numeric(2,4)", none, number("0.012")), "precision"));
    EXPECT_EQ(into("numeric(4)", none, real(1e3)), "1000");
    EXPECT_TRUE(refused(into("numeric(12,2)[]", none, json("[1.5, 1.005]")), "member"));
    EXPECT_EQ(into("numeric(12,2)[]", none, json("[1.5, 1.005]"), Lossy::round), "{1.50,1.01}");
    EXPECT_EQ(into("integer", none, number("1.5"), Lossy::round), "2");
    EXPECT_EQ(into("integer", none, real(-1.5), Lossy::truncate), "-1");
    EXPECT_TRUE(refused(into("integer", none, number("1.5")), "whole number"));
}

TEST(Convert, TextTimesKeepTheirDigitsOrAreRefused) {
    const std::vector<Conversion> none;
    EXPECT_EQ(into("timestamptz", none, text("2024-05-31T07:08:09.123456000Z")),
              "2024-05-31 07:08:09.123456+00");
    EXPECT_TRUE(refused(into("timestamptz", none, text("2024-05-31T07:08:09.1234567Z")),
                        "more digits"));
    EXPECT_TRUE(refused(into("time(3)", none, text("07:08:09.1234")), "more digits"));
    EXPECT_EQ(into("time(3)", none, text("07:08:09.1235"), Lossy::round), "07:08:09.124");
    EXPECT_EQ(into("time(0)", none, text("23:59:59.5"), Lossy::round), "24:00:00");
    EXPECT_EQ(into("time(0)", none, text("23:59:59.5"), Lossy::truncate), "23:59:59");
    EXPECT_EQ(into("timestamp(0)[]", none, json("[\"2024-05-31T07:08:09.5\"]"), Lossy::round),
              "{\"2024-05-31 07:08:10\"}");
}

TEST(Convert, CastsMeanWhatTheColumnWouldRefuse) {
    EXPECT_EQ(into("boolean", {cast(CastTarget::boolean)}, number("1")), "true");
    EXPECT_EQ(into("boolean", {cast(CastTarget::boolean)}, text("Off")), "false");
    EXPECT_TRUE(refused(into("boolean", {cast(CastTarget::boolean)}, number("2")), "neither"));
    EXPECT_TRUE(refused(into("boolean", {cast(CastTarget::boolean)}, text("truetrue1")),
                        "neither"));
    EXPECT_EQ(into("integer", {cast(CastTarget::integer)}, boolean(true)), "1");
    EXPECT_EQ(into("text", {cast(CastTarget::integer)}, text("1.0")), "1");
    EXPECT_EQ(into("text", {cast(CastTarget::integer)}, number("2.5e0"), Lossy::round), "3");
    EXPECT_TRUE(refused(into("text", {cast(CastTarget::integer)}, number("2.5")), "whole"));
    EXPECT_EQ(into("jsonb", {cast(CastTarget::text)}, number("1.0")), "\"1.0\"");
    EXPECT_EQ(into("text", {cast(CastTarget::text)}, json("{\"a\":1}")), "{\"a\":1}");
    EXPECT_EQ(into("date", {cast(CastTarget::date)}, text("2024-05-31T00:00:00Z")), "2024-05-31");
    EXPECT_TRUE(refused(into("date", {cast(CastTarget::date)}, text("2024-05-31T23:00:00Z")),
                        "midnight"));
    EXPECT_EQ(into("date", {cast(CastTarget::date)}, text("2024-05-31T23:00:00-02:00"),
                   Lossy::truncate),
              "2024-06-01");
    EXPECT_EQ(into("date", {cast(CastTarget::date)}, timestamp(1'000'000), Lossy::truncate),
              "1970-01-01");
    EXPECT_EQ(into("timestamptz", {cast(CastTarget::timestamptz)}, text("2024-05-31T07:08:09")),
              "2024-05-31 07:08:09+00");
    EXPECT_EQ(into("timestamp", {cast(CastTarget::timestamptz)}, text("2024-05-31T07:08:09+02")),
              "2024-05-31 05:08:09");
    EXPECT_TRUE(refused(
        into("timestamptz", {cast(CastTarget::timestamptz)}, text("2024-05-31T07:08:09.1234567")),
        "more digits"));
    EXPECT_EQ(into("text", {cast(CastTarget::timestamptz)}, text("2024-05-31T07:08:09.1234567")),
              "2024-05-31T07:08:09.1234567Z");
}

TEST(Convert, TrimAndCaseChangeTextAlone) {
    EXPECT_EQ(into("text", Kind::trim, text(" \t a b\r\n")), "a b");
    EXPECT_EQ(into("text", Kind::trim, text("  ")), "");
    EXPECT_EQ(into("text", Kind::trim, text("")), "");
    EXPECT_EQ(into("integer", Kind::trim, text(" 42 ")), "42");
    EXPECT_EQ(into("text", Kind::lower, text("A\u00c4z")), "a\u00c4z");
    EXPECT_EQ(into("text", Kind::upper, text("a\u00e4Z")), "A\u00e4Z");
    EXPECT_EQ(into("integer", Kind::lower, number("5")), "5");
    EXPECT_TRUE(refused(into("text", Kind::trim, json("{}")), "object or array"));
    EXPECT_TRUE(refused(into("text", Kind::trim, text(" \0 "sv)), "NUL"));
    // Steps read what the ones before them have made.
    EXPECT_EQ(into("text", {step(Kind::upper), step(Kind::trim), step(Kind::lower),
                            step(Kind::trim), step(Kind::upper)},
                   text(" a long text that lives nowhere else ")),
              "A LONG TEXT THAT LIVES NOWHERE ELSE");
    EXPECT_EQ(into("bytea", {step(Kind::trim), step(Kind::base64), step(Kind::base64)},
                   text(" " + base64(base64("\x01\x02\x03")) + " ")),
              "\\x010203");
}

TEST(Convert, AMapKnowsItsValuesAndRefusesAllOthers) {
    Conversion map = step(Kind::map);
    map.map = {{"a", {Value::Kind::text, "active"}},
               {"1", {Value::Kind::number, "10"}},
               {"true", {Value::Kind::text, "yes"}},
               {"", {Value::Kind::null, ""}}};
    EXPECT_EQ(into("text", {map}, text("a")), "active");
    EXPECT_EQ(into("text", {step(Kind::lower), map}, text("A")), "active");
    EXPECT_EQ(into("integer", {map}, number("1")), "10");
    EXPECT_EQ(into("integer", {map}, integer(1)), "10");
    EXPECT_EQ(into("text", {map}, boolean(true)), "yes");
    EXPECT_EQ(into("text", {map}, text("")), "NULL");
    EXPECT_TRUE(refused(into("text", {map}, text("b")), "`map`"));
    EXPECT_TRUE(refused(into("text", {map}, number("1.0")), "`map`"));
    EXPECT_TRUE(refused(into("text", {map}, json("{}")), "`map`"));
    map.otherwise = {Value::Kind::text, "unknown"};
    EXPECT_EQ(into("text", {map}, text("b")), "unknown");
}

TEST(Convert, TextThatHoldsJsonBecomesTheDocument) {
    EXPECT_EQ(into("jsonb", Kind::json, text(" {\"a\": [1, 2]} ")), "{\"a\": [1, 2]}");
    EXPECT_EQ(into("integer[]", Kind::json, text("[1,null]")), "{1,NULL}");
    EXPECT_EQ(into("integer", Kind::json, text("42")), "42");
    EXPECT_EQ(into("numeric", Kind::json, text("12345678901234567890123")),
              "12345678901234567890123");
    EXPECT_EQ(into("text", Kind::json, text("\"a\\nb\"")), "a\nb");
    EXPECT_EQ(into("boolean", Kind::json, text("false")), "false");
    EXPECT_EQ(into("jsonb", Kind::json, text("null")), "NULL");
    EXPECT_EQ(into("jsonb", Kind::json, json("{}")), "{}");
    for (const char* broken : {"", " ", "{", "{\"a\":}", "nul", "[1,]", "{} {}", "hello"}) {
        EXPECT_TRUE(refused(into("jsonb", Kind::json, text(broken)), "not JSON")) << broken;
    }
}

TEST(Convert, ANumberOfAnySizeInADocumentHidesNothingThatFollows) {
    for (const char* whole : {R"({"wei": 123456789012345678901234567890, "b": [1]})",
                              R"([1e999, -1E-999, -18446744073709551616])"}) {
        EXPECT_EQ(into("json", Kind::json, text(whole)), whole);
    }
    EXPECT_EQ(into("json", Kind::json, text("1e999")), "1e999");
    for (const char* broken : {R"({"wei": 123456789012345678901234567890, "b": nul})",
                               R"([1e999, 01])", "[18446744073709551616, 1",
                               "{\"far\": 1e999, \"b\": \"\\x\"}", "123456789012345678901 2"}) {
        EXPECT_TRUE(refused(into("json", Kind::json, text(broken)), "not JSON")) << broken;
    }
}

TEST(Convert, TheDefaultIsForWhatIsMissingAlone) {
    const ColumnConversion conversion{.steps = {step(Kind::upper)},
                                      .fallback = ConstantValue{Value::Kind::text, "none"}};
    for (Value missing : {Value{}, support::null_value()}) {
        Provenance provenance = Provenance::field;
        EXPECT_EQ(convert(conversion, TypeKind::text, missing, provenance), "");
        EXPECT_EQ(missing.text, "none");
    }
    Provenance provenance = Provenance::field;
    Value there = text("");
    EXPECT_EQ(convert(conversion, TypeKind::text, there, provenance), "");
    EXPECT_EQ(there.text, "");
    Value key;
    EXPECT_EQ(convert_present(conversion, TypeKind::text, key, provenance), "");
    EXPECT_EQ(key.kind, Value::Kind::absent);
}

}  // namespace onceward::conversions
