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

}  // namespace
}  // namespace onceward::test
