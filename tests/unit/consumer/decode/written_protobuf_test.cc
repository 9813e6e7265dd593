// Protobuf by a registry's .proto text.

#include <gmock/gmock.h>

#include "tests/unit/consumer/decode/schemas.h"

namespace onceward::test {
namespace {

using Kind = Value::Kind;

WrittenSchema proto_schema(std::string text,
                           std::vector<WrittenSchema::Reference> references = {}) {
    return {SchemaLanguage::protobuf, std::move(text), std::move(references)};
}

constexpr const char* order_proto = R"(syntax = "proto3";
package shop;
import "shop/money.proto";
import "google/protobuf/timestamp.proto";
import "confluent/meta.proto";
import "confluent/type/decimal.proto";
message Other { string id = 1; }
message Order {
  option (confluent.message_meta).doc = "an order";
  enum State { OPEN = 0; SHUT = 1; }
  message Line { string sku = 1; }
  string id = 1;
  Money price = 2;
  google.protobuf.Timestamp at = 3;
  State state = 4;
  repeated Line lines = 5;
  confluent.type.Decimal exact = 6;
})";
constexpr const char* money_proto = R"(syntax = "proto3";
package shop;
message Money { int64 cents = 1; })";

// The order "x" of 7 cents at 1 s, SHUT, with a line "y".
const std::string order_bytes("\x0a\x01x\x12\x02\x08\x07\x1a\x02\x08\x01\x20\x01\x2a\x03\x0a\x01y",
                              18);

class WrittenProtobuf : public testing::Test {
  protected:
    WrittenProtobuf() {
        decoding_.schemas->know(1, proto_schema(order_proto, {{"shop/money.proto", money_proto}}));
    }
    std::string reason(const std::string& payload) {
        decoding_.decode(payload);
        return decoding_.reason();
    }
    RegistryDecoding decoding_{by_registry(Format::protobuf),
                               {"id", "price.cents", "at", "state", "lines", "sku", "lines.sku"}};
};

TEST_F(WrittenProtobuf, TheIndexOfTheFrameChoosesTheMessage) {
    EXPECT_EQ(reason(framed(1, "\x02\x02" + order_bytes)), "");
    EXPECT_EQ(decoding_[0].text, "x");
    EXPECT_EQ(decoding_[1].integer, 7);
    EXPECT_EQ(decoding_[2].integer, 1'000'000);
    EXPECT_EQ(decoding_[3].text, "SHUT");
    EXPECT_EQ(decoding_[4].text, R"([{"sku":"y"}])");
    EXPECT_EQ(decoding_[5].kind, Kind::absent);
    EXPECT_EQ(decoding_[6].kind, Kind::absent) << "a list has no member `sku`";
    EXPECT_EQ(reason(framed(1, "\0\x0a\x01z"sv)), "") << "the first message, Other";
    EXPECT_EQ(decoding_[0].text, "z");
    EXPECT_EQ(decoding_[3].kind, Kind::absent);
    EXPECT_EQ(reason(framed(1, "\x04\x02\0\x0a\x01s"sv)), "") << "Order.Line";
    EXPECT_EQ(decoding_[5].text, "s");
}

TEST_F(WrittenProtobuf, AnIndexThatNamesNoMessageIsUndecodable) {
    EXPECT_EQ(reason(framed(1, "\x02\x04x"sv)),
              "the frame's message index names no message of its schema (schema 1)");
    EXPECT_EQ(reason(framed(1, "\x04\x02\x02x"sv)),
              "the frame's message index names no message of its schema (schema 1)");
    EXPECT_EQ(reason(framed(1, "\x80"sv)),
              "the frame's message index list is cut short or overlong (schema 1)");
    EXPECT_EQ(decoding_.kind(), Rejection::Kind::undecodable);
}

TEST_F(WrittenProtobuf, AHeaderWithAGuidMayHoldTheIndexes) {
    const std::string guid = "\1" + std::string(16, '\xaa');
    decoding_.schemas->answers[{.number = 0, .guid = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"}] =
        decoding_.schemas->answers.begin()->second;
    const std::string indexed = guid + "\x02\x02";
    decoding_.decode(order_bytes, {{"__value_schema_id", indexed}});
    EXPECT_EQ(decoding_.reason(), "");
    EXPECT_EQ(decoding_[1].integer, 7);
    decoding_.decode("\x0a\x01z", {{"__value_schema_id", guid}});
    EXPECT_EQ(decoding_.reason(), "");
    EXPECT_EQ(decoding_[0].text, "z");
}

TEST_F(WrittenProtobuf, ABrokenPayloadIsUndecodable) {
    EXPECT_THAT(reason(framed(1, "\x02\x02\x0a\x05x"sv)),
                testing::StartsWith("the payload is not a valid shop.Order"));
}

TEST_F(WrittenProtobuf, TextThatDoesNotCompileIsSaidWithItsPlace) {
    decoding_.schemas->know(2, proto_schema("syntax = \"proto3\";\nmessage A { int32 }"));
    EXPECT_THAT(reason(framed(2, "\0"sv)),
                testing::StartsWith("schema 2 cannot be used: its .proto text does not compile: "
                                    "schema.proto:2:"));
    decoding_.schemas->know(3, proto_schema(order_proto));
    EXPECT_THAT(reason(framed(3, "\0"sv)), testing::HasSubstr("shop/money.proto"));
}

// A name is a text of the schema, and the chunk with the message lives longer than it.
TEST_F(WrittenProtobuf, AnEnumsNameOutlivesItsSchema) {
    alignas(16) std::array<char, 4096> memory{};
    std::pmr::monotonic_buffer_resource arena(memory.data(), memory.size());
    std::array<Value, 1> values;
    const auto decoder =
        make_registry_decoder(by_registry(Format::protobuf), {"state"}, decoding_.schemas);
    const std::string payload = framed(1, "\x02\x02\x20\x01");
    EXPECT_FALSE(decoder->decode(record_of(payload), values, arena).rejection);
    EXPECT_EQ(values[0].text, "SHUT");
    EXPECT_GE(values[0].text.data(), memory.data());
    EXPECT_LT(values[0].text.data(), memory.data() + memory.size());
}

}  // namespace
}  // namespace onceward::test
