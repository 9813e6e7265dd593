#include "tests/unit/consumer/records.h"

namespace onceward::test {
namespace {

using Kind = Value::Kind;

Decoding with(Envelope envelope, std::vector<std::string> paths = {"/id", "/name"}) {
    FormatOptions options;
    options.envelope = envelope;
    return Decoding(options, std::move(paths));
}

TEST(ConnectEnvelope, PointersAreRelativeToThePayload) {
    Decoding decoding = with(Envelope::connect, {"/id", "", "/payload"});
    decoding.decode(R"({"schema":{"type":"struct","id":9},"payload":{"id":1}})");
    ASSERT_EQ(decoding.reason(), "");
    EXPECT_EQ(decoding[0].text, "1");
    EXPECT_EQ(decoding[1].text, R"({"id":1})");
    EXPECT_EQ(decoding[2].kind, Kind::absent);
}

TEST(ConnectEnvelope, ANullPayloadIsATombstone) {
    Decoding decoding = with(Envelope::connect);
    const Decoded& decoded = decoding.decode(R"({"schema":null,"payload":null})");
    EXPECT_TRUE(decoded.tombstone);
    EXPECT_FALSE(decoded.rejection.has_value());
}

TEST(ConnectEnvelope, WithoutAPayloadMemberIsRejected) {
    EXPECT_TRUE(with(Envelope::connect).decode(R"({"id":1})").rejection.has_value());
    EXPECT_TRUE(with(Envelope::connect).decode("[]").rejection.has_value());
    EXPECT_TRUE(with(Envelope::connect)
                    .decode(R"({"payload":{"id":1},"payload":{"id":2}})")
                    .rejection.has_value());
}

TEST(DebeziumEnvelope, CreateReadAndUpdateTakeTheRowAfter) {
    for (const std::string_view operation : {"c"sv, "r"sv, "u"sv}) {
        Decoding decoding = with(Envelope::debezium);
        const Decoded& decoded = decoding.decode(
            R"({"before":{"id":1,"name":"old"},"after":{"id":1,"name":"new"},"source":{"id":7},)"
            R"("op":")" +
            std::string(operation) + R"(","ts_ms":5})");
        ASSERT_EQ(decoding.reason(), "");
        EXPECT_EQ(decoded.operation, Operation::upsert);
        EXPECT_EQ(decoding[0].text, "1");
        EXPECT_EQ(decoding[1].text, "new");
    }
}

TEST(DebeziumEnvelope, DeleteRemovesTheRowBefore) {
    Decoding decoding = with(Envelope::debezium);
    const Decoded& decoded =
        decoding.decode(R"({"op":"d","before":{"id":1,"name":"old"},"after":null})");
    ASSERT_EQ(decoding.reason(), "");
    EXPECT_EQ(decoded.operation, Operation::remove);
    EXPECT_EQ(decoding[0].text, "1");
    EXPECT_EQ(decoding[1].text, "old");
}

TEST(DebeziumEnvelope, MayStandInsideAConnectEnvelope) {
    Decoding decoding = with(Envelope::debezium, {"/id", ""});
    decoding.decode(R"({"schema":{},"payload":{"before":null,"after":{"id":1},"op":"c"}})");
    ASSERT_EQ(decoding.reason(), "");
    EXPECT_EQ(decoding[0].text, "1");
    EXPECT_EQ(decoding[1].text, R"({"id":1})");
    EXPECT_TRUE(decoding.decode(R"({"schema":null,"payload":null})").tombstone);
}

TEST(DebeziumEnvelope, TruncateAndMessageSayWhyTheyAreRejected) {
    Decoding decoding = with(Envelope::debezium);
    decoding.decode(R"({"op":"t","source":{}})");
    EXPECT_NE(decoding.reason().find("truncate"), std::string::npos);
    decoding.decode(R"({"op":"m","message":{}})");
    EXPECT_NE(decoding.reason().find("message"), std::string::npos);
}

TEST(DebeziumEnvelope, EventsWithoutARowAreRejectedOrSkippedAndCounted) {
    FormatOptions format;
    format.envelope = Envelope::debezium;
    Taking rejecting(header_key(), format);
    const Message& rejected = rejecting.take(R"({"op":"t","source":{}})", {{"key", "1"}});
    ASSERT_TRUE(rejected.rejection.has_value());
    EXPECT_EQ(rejected.rejection->kind, Rejection::Kind::undecodable);
    format.rowless = RowlessPolicy::skip;
    Taking skipping(header_key(), format);
    const Message& truncate = skipping.take(R"({"op":"t","source":{}})", {{"key", "1"}});
    EXPECT_TRUE(truncate.skipped);
    EXPECT_FALSE(truncate.rejection.has_value());
    EXPECT_EQ(truncate.skip_reason, "truncate");
    EXPECT_EQ(skipping.take(R"({"payload":{"op":"m"}})", {{"key", "2"}}).skip_reason,
              "logical message");
    EXPECT_TRUE(skipping.take(R"({"op":"x"})", {{"key", "3"}}).rejection.has_value());
}

TEST(DebeziumEnvelope, PathsAfterEventBeginAtTheEvent) {
    Decoding decoding = with(Envelope::debezium, {"/id", "event:/source/lsn", "event:/op",
                                                  "event:/source/snapshot", "event:/transaction"});
    for (const std::string_view event :
         {R"({"op":"u","after":{"id":1,"op":2},"source":{"lsn":7,"snapshot":"false"}})"sv,
          R"({"op":"d","before":{"id":1,"op":2},"source":{"lsn":7,"snapshot":"false"}})"sv}) {
        for (const bool wrapped : {false, true}) {
            decoding.decode(wrapped ? R"({"schema":null,"payload":)" + std::string(event) + "}"
                                    : std::string(event));
            ASSERT_EQ(decoding.reason(), "");
            EXPECT_EQ(decoding[0].text, "1");
            EXPECT_EQ(decoding[1].text, "7");
            EXPECT_EQ(decoding[2].text, event.substr(7, 1));
            EXPECT_EQ(decoding[3].text, "false");
            EXPECT_EQ(decoding[4].kind, Kind::absent);
        }
    }
    EXPECT_THROW(with(Envelope::debezium, {"event:lsn"}), FormatError);
    EXPECT_THROW(with(Envelope::debezium, {"event:"}), FormatError);
    EXPECT_THROW(with(Envelope::debezium, {"event:/a~2"}), FormatError);
    EXPECT_THROW(with(Envelope::none, {"event:/op"}), FormatError);
}

TEST(DebeziumEnvelope, ALargeValueThatIsNotSentIsNeverTakenForTheRows) {
    Decoding decoding = with(Envelope::debezium, {"/id", "/v"});
    for (const std::string_view value :
         {R"("__debezium_unavailable_value")"sv, R"("X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==")"sv,
          R"(["__debezium_unavailable_value"])"sv,
          R"(["X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="])"sv,
          R"(["b68a35a7-17ad-35b3-af2a-ae46edb4545a"])"sv,
          R"("{\"__debezium_unavailable_value\":\"__debezium_unavailable_value\"}")"sv,
          "[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,"
          "118,97,108,117,101]"sv}) {
        const Decoded& decoded =
            decoding.decode(R"({"op":"u","after":{"id":1,"v":)" + std::string(value) + "}}");
        ASSERT_TRUE(decoded.rejection.has_value()) << value;
        EXPECT_EQ(decoded.rejection->kind, Rejection::Kind::unmappable);
        EXPECT_NE(decoding.reason().find("REPLICA IDENTITY FULL"), std::string::npos);
    }
    Decoding other = with(Envelope::debezium, {"/id"});
    other.decode(R"({"op":"u","after":{"id":1,"v":"__debezium_unavailable_value"}})");
    EXPECT_EQ(other.reason(), "") << "nobody wants that value";
}

TEST(DebeziumEnvelope, TheSchemaInAnEventIsOfTheRowAfterAndOfTheRowBefore) {
    Decoding decoding = with(Envelope::debezium, {"/d", "event:/source/at"});
    const auto row = [](const std::string& type, const std::string& field) {
        return R"({"type":"struct","fields":[{"type":"int32","name":"io.debezium.time.)" + type +
               R"(","field":"d"}],"field":")" + field + "\"}";
    };
    const std::string schema = R"({"type":"struct","fields":[)" + row("Date", "before") + "," +
                               row("Time", "after") +
                               R"(,{"type":"struct","field":"source","fields":[{"type":"int64",)"
                               R"("name":"io.debezium.time.Timestamp","field":"at"}]}]})";
    const auto event = [&](const std::string& payload) {
        decoding.decode(R"({"schema":)" + schema + R"(,"payload":)" + payload + "}");
        return decoding.reason();
    };
    ASSERT_EQ(event(R"({"op":"u","before":{"d":"bad"},"after":{"d":1},"source":{"at":0}})"), "");
    EXPECT_EQ(decoding[0].text, "00:00:00.001000");
    EXPECT_EQ(decoding[1].text, "1970-01-01T00:00:00.000000");
    ASSERT_EQ(event(R"({"op":"d","before":{"d":2},"after":null,"source":{"at":1}})"), "");
    EXPECT_EQ(decoding[0].text, "1970-01-03");
    EXPECT_EQ(decoding[1].text, "1970-01-01T00:00:00.001000");
}

TEST(DebeziumEnvelope, WhatIsNoChangeEventIsRejected) {
    Decoding decoding = with(Envelope::debezium);
    EXPECT_TRUE(decoding.decode(R"({"op":"x","after":{"id":1}})").rejection.has_value());
    EXPECT_TRUE(decoding.decode(R"({"op":1,"after":{"id":1}})").rejection.has_value());
    EXPECT_TRUE(decoding.decode(R"({"after":{"id":1}})").rejection.has_value());
    EXPECT_TRUE(decoding.decode(R"({"id":1,"name":"x"})").rejection.has_value());
    EXPECT_TRUE(decoding.decode(R"({"op":"c","after":null})").rejection.has_value());
    EXPECT_TRUE(decoding.decode(R"({"op":"u","before":{"id":1}})").rejection.has_value());
}

TEST(DebeziumEnvelope, TwoOfAMemberAreAmbiguousEvenInBothPlaces) {
    Decoding decoding = with(Envelope::debezium);
    EXPECT_TRUE(decoding.decode(R"({"op":"c","op":"d","after":{"id":1},"before":{"id":2}})")
                    .rejection.has_value());
    EXPECT_TRUE(
        decoding.decode(R"({"op":"c","after":{"id":1},"payload":{"op":"c","after":{"id":2}}})")
            .rejection.has_value());
}

TEST(DebeziumEnvelope, TheIntakeAppliesOperationAndTombstonePolicy) {
    FormatOptions format;
    format.envelope = Envelope::debezium;
    format.tombstones = TombstonePolicy::skip;
    Taking taking(keys({key_from(KeySource::Kind::field, "/id")}), format,
                  {{FieldSource::Kind::field, "/id"}});
    EXPECT_EQ(taking.take(R"({"op":"d","before":{"id":1},"after":null})").operation,
              Operation::remove);
    EXPECT_EQ(taking.chunk.messages.back().key_text, "1");
    EXPECT_TRUE(taking.take(R"({"schema":null,"payload":null})").skipped);
    EXPECT_TRUE(taking.take(std::nullopt).skipped);
}

Record change_of(const std::string& payload, std::optional<std::string_view> key) {
    Record record = record_of(payload);
    record.key = key;
    return record;
}

TEST(DebeziumEnvelope, TheKeyOfAChangeOfPostgresqlIsItsPlaceInTheLogItsOperationAndItsRow) {
    FormatOptions format;
    format.envelope = Envelope::debezium;
    const auto text = [&](const std::string& payload, std::optional<std::string_view> key) {
        Taking taking(keys(key_preset("debezium-postgres").value()), format);
        const Message& message = taking.take(change_of(payload, key));
        return message.rejection ? std::string(to_text(message.rejection->kind))
                                 : std::string(message.key_text);
    };
    const std::string event = R"({"op":"u","after":{"id":1},"source":{"lsn":24023128,"txId":555}})";
    EXPECT_EQ(text(event, "k"), R"(["24023128","555","u",")" + hex(digest_of_bytes("k")) + "\"]");
    // The same change again, by a connector that was restarted: other times, another form.
    EXPECT_EQ(text(R"({"schema":null,"payload":{"source":{"lsn":24023128,"txId":555,"ts_ms":9},)"
                   R"("op":"u","after":{"id":1},"ts_ms":7}})",
                   "k"),
              text(event, "k"));
    EXPECT_NE(text(event, "l"), text(event, "k")) << "a COPY writes many rows at one place";
    EXPECT_NE(text(R"({"op":"d","before":{"id":1},"source":{"lsn":24023128,"txId":555}})", "k"),
              text(event, "k"));
    // DANGER: without a key all rows at one place would be one.
    EXPECT_EQ(text(event, std::nullopt), "missing_key");
    EXPECT_EQ(text(R"({"op":"u","after":{"id":1},"source":{"txId":555}})", "k"), "missing_key");
}

}  // namespace
}  // namespace onceward::test
