// Messages of Connect's JSON converter with their schema, as a decoder reads them.

#include "consumer/decode/connect/connect_schemas.h"
#include "tests/unit/consumer/records.h"

namespace onceward::test {
namespace {

using Kind = Value::Kind;

// A field of a struct; `more` has the type's other members.
std::string connect_field(const std::string& name, const std::string& type,
                          const std::string& more = "") {
    return R"({"type":")" + type + R"(","optional":true,"field":")" + name + "\"" + more + "}";
}

std::string type_name(const std::string& name) { return R"(,"version":1,"name":")" + name + "\""; }

std::string decimal_of_scale(int digits) {
    return type_name("org.apache.kafka.connect.data.Decimal") + R"(,"parameters":{"scale":")" +
           std::to_string(digits) + R"("})";
}

std::string struct_of(const std::string& fields) {
    return R"({"type":"struct","fields":[)" + fields + R"(],"optional":false,"name":"Value"})";
}

std::string connect_message(const std::string& schema, const std::string& payload) {
    return R"({"schema":)" + schema + R"(,"payload":)" + payload + "}";
}

Decoding connect_decoding(std::vector<std::string> paths) {
    FormatOptions options;
    options.envelope = Envelope::connect;
    return Decoding(options, std::move(paths));
}

// One field `/v` of that type and value.
Value connect_value(Decoding& decoding, const std::string& type, const std::string& more,
                    const std::string& value) {
    decoding.decode(
        connect_message(struct_of(connect_field("v", type, more)), R"({"v":)" + value + "}"));
    return decoding[0];
}

TEST(ConnectMessage, TypedValuesBecomeWhatPlainJsonHas) {
    Decoding decoding = connect_decoding({"/v"});
    const auto text = [&](const std::string& type, const std::string& more,
                          const std::string& value) {
        const Value read = connect_value(decoding, type, more, value);
        EXPECT_EQ(decoding.reason(), "");
        EXPECT_EQ(read.kind, Kind::text);
        return std::string(read.text);
    };
    EXPECT_EQ(text("int32", type_name("io.debezium.time.Date"), "19874"), "2024-05-31");
    EXPECT_EQ(text("int32", type_name("org.apache.kafka.connect.data.Date"), "19874"),
              "2024-05-31");
    EXPECT_EQ(text("int32", type_name("io.debezium.time.Time"), "25689500"), "07:08:09.500000");
    EXPECT_EQ(text("int32", type_name("org.apache.kafka.connect.data.Time"), "25689500"),
              "07:08:09.500000");
    EXPECT_EQ(text("int64", type_name("io.debezium.time.MicroTime"), "25689500001"),
              "07:08:09.500001");
    EXPECT_EQ(text("int64", type_name("io.debezium.time.NanoTime"), "25689500001007"),
              "07:08:09.500001007");
    EXPECT_EQ(text("int64", type_name("io.debezium.time.Timestamp"), "1717139289500"),
              "2024-05-31T07:08:09.500000");
    EXPECT_EQ(text("int64", type_name("io.debezium.time.MicroTimestamp"), "1717139289500001"),
              "2024-05-31T07:08:09.500001");
    EXPECT_EQ(text("int64", type_name("io.debezium.time.NanoTimestamp"), "1717139289500000001"),
              "2024-05-31T07:08:09.500000001");
    EXPECT_EQ(
        text("string", type_name("io.debezium.time.ZonedTimestamp"), "\"2024-05-31T07:08:09Z\""),
        "2024-05-31T07:08:09Z");
}

TEST(ConnectMessage, ATimestampOfConnectIsAPointInTime) {
    Decoding decoding = connect_decoding({"/v"});
    const Value read = connect_value(
        decoding, "int64", type_name("org.apache.kafka.connect.data.Timestamp"), "1717139289500");
    ASSERT_EQ(decoding.reason(), "");
    EXPECT_EQ(read.kind, Kind::timestamp);
    EXPECT_EQ(read.integer, 1717139289500000);
    EXPECT_TRUE(read.text.empty());
}

TEST(ConnectMessage, ADecimalBecomesANumber) {
    Decoding decoding = connect_decoding({"/v"});
    Value read = connect_value(decoding, "bytes", decimal_of_scale(2), "\"BNI=\"");
    EXPECT_EQ(read.kind, Kind::number);
    EXPECT_EQ(read.text, "12.34");
    read = connect_value(decoding, "bytes", decimal_of_scale(2),
                         "12.340");  // `decimal.format: numeric`
    EXPECT_EQ(read.text, "12.340");
    read = connect_value(decoding, "struct", type_name("io.debezium.data.VariableScaleDecimal"),
                         R"({"scale":3,"value":"BNI="})");
    EXPECT_EQ(decoding.reason(), "");
    EXPECT_EQ(read.kind, Kind::number);
    EXPECT_EQ(read.text, "1.234");
}

TEST(ConnectMessage, ATextOfJsonBecomesItsDocumentAlsoIfThatIsAScalar) {
    Decoding decoding = connect_decoding({"/v"});
    const std::string json = type_name("io.debezium.data.Json");
    Value read = connect_value(decoding, "string", json, R"("{\"a\": [1.10]}")");
    EXPECT_EQ(read.kind, Kind::json);
    EXPECT_EQ(read.text, R"({"a": [1.10]})");
    read = connect_value(decoding, "string", json, "\"null\"");
    EXPECT_EQ(read.kind, Kind::json);
    EXPECT_EQ(read.text, "null");
    read = connect_value(decoding, "string", json, "null");
    EXPECT_EQ(read.kind, Kind::null);
}

TEST(ConnectMessage, WhatHasNoTypedNameStaysAsItIs) {
    Decoding decoding = connect_decoding({"/v"});
    Value read = connect_value(decoding, "bytes", "", "\"aGVsbG8=\"");
    EXPECT_EQ(read.kind, Kind::text);
    EXPECT_EQ(read.text, "aGVsbG8=");
    read = connect_value(decoding, "int64", type_name("io.debezium.time.MicroDuration"), "1500000");
    EXPECT_EQ(read.kind, Kind::number);
    EXPECT_EQ(read.text, "1500000");
    read = connect_value(decoding, "array", R"(,"items":{"type":"string"})", R"(["a", "b"])");
    EXPECT_EQ(read.text, R"(["a", "b"])");
}

TEST(ConnectMessage, ArraysAndRecordsAreWrittenAgainWithTheirTypes) {
    Decoding decoding = connect_decoding({"/v"});
    const std::string date = R"({"type":"int32","name":"io.debezium.time.Date"})";
    Value read = connect_value(decoding, "array", R"(,"items":)" + date, "[19874, null,0]");
    ASSERT_EQ(decoding.reason(), "");
    EXPECT_EQ(read.kind, Kind::json);
    EXPECT_EQ(read.text, R"(["2024-05-31",null,"1970-01-01"])");
    read = connect_value(
        decoding, "array",
        R"(,"items":{"type":"struct","name":"io.debezium.data.VariableScaleDecimal"})",
        R"([{"scale":2,"value":"BNI="},{"scale":0,"value":"AA=="}])");
    EXPECT_EQ(read.text, "[12.34,0]");
    read = connect_value(decoding, "array",
                         R"(,"items":{"type":"string","name":"io.debezium.data.Json"})",
                         R"(["{\"a\": \"\\u00e9\"}","null"])");
    EXPECT_EQ(read.text, R"([{"a": "\u00e9"},null])");
    read =
        connect_value(decoding, "struct",
                      R"(,"fields":[{"type":"int32","field":"d","name":"io.debezium.time.Date"},)"
                      R"({"type":"string","field":"s"}])",
                      R"({"s":"a\"\n","d":0,"other":{"x":[true,1.50]}})");
    EXPECT_EQ(read.text, R"({"s":"a\"\u000a","d":"1970-01-01","other":{"x":[true,1.50]}})");
    read = connect_value(decoding, "map", R"(,"keys":{"type":"string"},"values":)" + date,
                         R"({"a":0,"b":null})");
    EXPECT_EQ(read.text, R"({"a":"1970-01-01","b":null})");
}

TEST(ConnectMessage, PathsLeadThroughArraysMapsAndRecords) {
    Decoding decoding = connect_decoding({"/l/1/d", "/m/x", ""});
    const std::string date = R"({"type":"int32","name":"io.debezium.time.Date")";
    decoding.decode(connect_message(
        struct_of(
            connect_field("l", "array",
                          R"(,"items":{"type":"struct","fields":[)" + date + R"(,"field":"d"}]})") +
            "," + connect_field("m", "map", R"(,"values":)" + date + "}")),
        R"({"l":[{"d":1},{"d":2}],"m":{"x":3}})"));
    ASSERT_EQ(decoding.reason(), "");
    EXPECT_EQ(decoding[0].text, "1970-01-03");
    EXPECT_EQ(decoding[1].text, "1970-01-04");
    EXPECT_EQ(decoding[2].text,
              R"({"l":[{"d":"1970-01-02"},{"d":"1970-01-03"}],"m":{"x":"1970-01-04"}})");
}

TEST(ConnectMessage, AValueThatIsNotOfItsTypeIsRejected) {
    Decoding decoding = connect_decoding({"/v"});
    const auto reason = [&](const std::string& type, const std::string& more,
                            const std::string& value) {
        connect_value(decoding, type, more, value);
        return decoding.reason();
    };
    const std::string date = type_name("io.debezium.time.Date");
    EXPECT_NE(reason("int32", date, "\"2024-05-31\"").find("`/v` is not a whole number"),
              std::string::npos);
    EXPECT_NE(reason("int32", date, "1.5").find("is not a whole number"), std::string::npos);
    EXPECT_NE(reason("int32", date, "{}").find("is not a whole number"), std::string::npos);
    EXPECT_NE(reason("int32", date, "9999999").find("outside the years"), std::string::npos);
    EXPECT_NE(reason("bytes", decimal_of_scale(2), "\"12.34\"").find("is not a decimal"),
              std::string::npos);
    EXPECT_NE(reason("bytes", decimal_of_scale(2), "true").find("is not a decimal"),
              std::string::npos);
    EXPECT_NE(reason("string", type_name("io.debezium.data.Json"), "\"{\"").find("holds JSON"),
              std::string::npos);
    EXPECT_NE(
        reason("array", R"(,"items":{"type":"int32","name":"io.debezium.time.Date"})", "[1,2.5]")
            .find("is not a whole number"),
        std::string::npos);
    EXPECT_NE(
        reason("array", R"(,"items":{"type":"int32","name":"io.debezium.time.Date"})", "[[1]]")
            .find("is not a whole number"),
        std::string::npos);
    EXPECT_NE(
        reason("map", R"(,"values":{"type":"int32","name":"io.debezium.time.Date"})", "[[1,1]]")
            .find("keys are not texts"),
        std::string::npos);
    EXPECT_NE(reason("array", R"(,"items":{"type":"bytes")" + decimal_of_scale(2) + "}", "[true]")
                  .find("is not a decimal"),
              std::string::npos);
}

TEST(ConnectMessage, AFieldThatNobodyWantsIsNotLookedAt) {
    Decoding decoding = connect_decoding({"/id"});
    decoding.decode(
        connect_message(struct_of(connect_field("id", "int32") + "," +
                                  connect_field("d", "int32", type_name("io.debezium.time.Date"))),
                        R"({"id":1,"d":"x"})"));
    EXPECT_EQ(decoding.reason(), "");
    EXPECT_EQ(decoding[0].text, "1");
}

TEST(ConnectMessage, ADecimalWithoutAScaleMakesItsSchemaUseless) {
    Decoding decoding = connect_decoding({"/v"});
    connect_value(decoding, "bytes", type_name("org.apache.kafka.connect.data.Decimal"),
                  "\"BNI=\"");
    EXPECT_NE(decoding.reason().find("`scale`"), std::string::npos);
}

TEST(ConnectMessage, TheSchemaMayFollowThePayloadAndMayChange) {
    Decoding decoding = connect_decoding({"/v"});
    const std::string date =
        struct_of(connect_field("v", "int32", type_name("io.debezium.time.Date")));
    decoding.decode(R"({"payload":{"v":1},"schema":)" + date + "}");
    EXPECT_EQ(decoding[0].text, "1970-01-02");
    decoding.decode(connect_message(struct_of(connect_field("v", "int32")), R"({"v":1})"));
    EXPECT_EQ(decoding[0].text, "1");
    decoding.decode(connect_message(date, R"({"v":1})"));
    EXPECT_EQ(decoding[0].text, "1970-01-02");
    decoding.decode(R"({"schema":null,"payload":{"v":1}})");
    EXPECT_EQ(decoding[0].text, "1");
}

TEST(ConnectMessage, ASchemaThatIsComparedAndNotReadChangesNoVerdict) {
    const std::string date =
        struct_of(connect_field("v", "int32", type_name("io.debezium.time.Date")));
    const std::string good = connect_message(date, R"({"v":1})");
    const std::string head = R"({"schema":)" + date;
    for (const std::string& document :
         {good, head + "}", head + ",}", head + ", }", head, head + ",", head + R"(,"payload")",
          head + R"(,"schema":{},"payload":{"v":1}})", head + R"(,"payload":{"v":1}} )",
          head + R"(,"payload":{"v":1}},{})", head + R"(,"payload":{"v":1},"payload":{"v":2}})",
          head + R"( ,"payload":{"v":1}})", head + R"(,"payload":null})",
          head + R"(,"payload":{"v":1,"schema":{}}})", head + R"(,"payload":{"v":"\u0041"}})",
          head + "}" + R"(,"payload":{"v":1}})"}) {
        Decoding fresh = connect_decoding({"/v"});
        const Decoded& first = fresh.decode(document);
        Decoding second = connect_decoding({"/v"});
        second.decode(good);
        ASSERT_EQ(second.reason(), "");
        const Decoded& again = second.decode(document);
        EXPECT_EQ(again.rejection.has_value(), first.rejection.has_value()) << document;
        EXPECT_EQ(again.tombstone, first.tombstone) << document;
        EXPECT_EQ(second.reason(), fresh.reason()) << document;
        if (first.rejection) continue;
        EXPECT_EQ(second[0].kind, fresh[0].kind) << document;
        EXPECT_EQ(second[0].text, fresh[0].text) << document;
    }
}

TEST(ConnectSchemas, ASchemaThatWasSeenLatelyIsNotParsedAgain) {
    ConnectSchemas schemas({"/v"});
    const std::string first =
        struct_of(connect_field("v", "int32", type_name("io.debezium.time.Date")));
    const std::string second = struct_of(connect_field("v", "int32"));
    EXPECT_NE(schemas.get(first).nodes[0], nullptr);
    EXPECT_EQ(schemas.get(second).nodes[0], nullptr);
    EXPECT_NE(schemas.get(first).nodes[0], nullptr);
    EXPECT_EQ(schemas.parsed(), 2U);
}

TEST(ConnectSchemas, EachSchemaThatIsKnownIsFoundAtTheBeginOfAMessage) {
    ConnectSchemas schemas({"/v"});
    const std::string first = struct_of(connect_field("v", "int32"));
    const std::string second = struct_of(connect_field("v", "int64"));
    EXPECT_EQ(schemas.after_known(connect_message(first, "{}")), "");
    schemas.get(first);
    schemas.get(second);
    EXPECT_EQ(schemas.after_known(connect_message(first, "{}")), R"("payload":{}})");
    EXPECT_EQ(schemas.latest(), first);
    EXPECT_EQ(schemas.after_known(connect_message(second, "{}")), R"("payload":{}})");
    EXPECT_EQ(schemas.latest(), second);
    EXPECT_EQ(schemas.after_known(R"({"schema":)" + first + "}"), "");
    EXPECT_EQ(schemas.after_known(R"({"schema":)" + first + ", }"), "");
    EXPECT_EQ(schemas.after_known(R"({"other":1,"schema":)" + first + R"(,"payload":{}})"), "");
}

TEST(ConnectSchemas, MoreSchemasThanAreKeptMakeTheOldestForgotten) {
    ConnectSchemas schemas({"/v"});
    const auto table = [](std::size_t number) {
        return struct_of(connect_field("t" + std::to_string(number), "int32"));
    };
    for (std::size_t i = 0; i <= ConnectSchemas::most; ++i) schemas.get(table(i));
    schemas.get(table(1));
    EXPECT_EQ(schemas.parsed(), ConnectSchemas::most + 1);
    schemas.get(table(0));
    EXPECT_EQ(schemas.parsed(), ConnectSchemas::most + 2);
}

TEST(ConnectSchemas, LongSchemasAreForgottenEarlier) {
    ConnectSchemas schemas({"/v"});
    const auto large = [](char letter) {
        return R"({"type":"string","doc":")" + std::string(9 * 1024 * 1024, letter) + "\"}";
    };
    schemas.get(large('a'));
    schemas.get(large('b'));
    schemas.get(large('a'));
    EXPECT_EQ(schemas.parsed(), 3U);
}

}  // namespace
}  // namespace onceward::test
