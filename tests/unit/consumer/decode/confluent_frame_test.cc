#include "consumer/decode/decoder.h"

#include "tests/unit/consumer/records.h"

namespace onceward::test {
namespace {

constexpr std::string_view guid_header =
    "\x01"
    "0123456789abcdef"sv;

ConfluentFrame unframed(std::string_view payload, MessageIndex index = MessageIndex::present,
                        RecordHeaders headers = {}) {
    return read_confluent_frame(record_of(payload, std::move(headers)), index);
}

std::vector<std::int32_t> index_of(const ConfluentFrame& frame) {
    return {frame.index().begin(), frame.index().end()};
}

TEST(Framing, ShortFormOfIndexZeroIsOneByte) {
    const ConfluentFrame frame = unframed("\0\0\0\0\x07\0body"sv);
    EXPECT_EQ(frame.fault, nullptr);
    EXPECT_EQ(frame.payload, "body");
    EXPECT_EQ(index_of(frame), std::vector<std::int32_t>{0});
}

TEST(Framing, LongFormOfIndexZeroIsLegal) {
    const ConfluentFrame frame = unframed("\0\0\0\0\x07\x02\0body"sv);
    EXPECT_EQ(frame.fault, nullptr);
    EXPECT_EQ(frame.payload, "body");
    EXPECT_EQ(index_of(frame), std::vector<std::int32_t>{0});
}

TEST(Framing, IndexesAreZigzagVarints) {
    // count 3, then 1, 0 and 150 (300 = 0xAC 0x02)
    const ConfluentFrame frame = unframed(
        "\0\0\0\0\x07\x06\x02\0\xac\x02"
        "body"sv);
    EXPECT_EQ(frame.fault, nullptr);
    EXPECT_EQ(frame.payload, "body");
    EXPECT_EQ(index_of(frame), (std::vector<std::int32_t>{1, 0, 150}));
}

TEST(Framing, NegativeCountIsAFault) {
    EXPECT_NE(unframed("\0\0\0\0\x07\x01"
                       "body"sv)
                  .fault,
              nullptr);
}

TEST(Framing, HugeCountIsAFault) {
    // 0xfffffffe is zigzag for 2147483647
    EXPECT_NE(unframed("\0\0\0\0\x07\xfe\xff\xff\xff\x0f"
                       "body"sv)
                  .fault,
              nullptr);
    // 33 indexes are all there, and still one more than the array holds
    const std::string one_too_many = std::string("\0\0\0\0\x07\x42"sv) + std::string(33, '\0');
    EXPECT_NE(unframed(one_too_many).fault, nullptr);
    const std::string just_fits = std::string("\0\0\0\0\x07\x40"sv) + std::string(32, '\0');
    EXPECT_EQ(unframed(just_fits).fault, nullptr);
}

TEST(Framing, NegativeIndexIsAFault) {
    EXPECT_NE(unframed("\0\0\0\0\x07\x02\x01"
                       "body"sv)
                  .fault,
              nullptr);
}

TEST(Framing, OverlongAndTruncatedVarintsAreFaults) {
    EXPECT_NE(unframed("\0\0\0\0\x07\xff\xff\xff\xff\xff\xff\x01"sv).fault, nullptr);
    EXPECT_NE(unframed("\0\0\0\0\x07\xff\xff\xff\xff\x7f"sv).fault, nullptr);
    EXPECT_NE(unframed("\0\0\0\0\x07\x80"sv).fault, nullptr);
    EXPECT_NE(unframed("\0\0\0\0\x07"sv).fault, nullptr);
    EXPECT_NE(unframed("\0\0\0\0\x07\x04\0"sv).fault, nullptr);
}

TEST(Framing, WithoutMagicByteOrIdIsAFault) {
    EXPECT_NE(unframed("{\"a\":1}"sv).fault, nullptr);
    EXPECT_NE(unframed("\0\0\0"sv).fault, nullptr);
    EXPECT_NE(unframed(""sv).fault, nullptr);
}

TEST(Framing, JsonHasNoIndexBehindTheId) {
    const ConfluentFrame frame = unframed("\0\0\0\0\x07{}"sv, MessageIndex::none);
    EXPECT_EQ(frame.fault, nullptr);
    EXPECT_EQ(frame.payload, "{}");
    EXPECT_TRUE(frame.index().empty());
}

TEST(Framing, SchemaIdHeaderLeavesThePayloadWhole) {
    const ConfluentFrame frame =
        unframed("\0\0\0\0\x07{}"sv, MessageIndex::present, {{"__value_schema_id", guid_header}});
    EXPECT_EQ(frame.fault, nullptr);
    EXPECT_EQ(frame.payload, "\0\0\0\0\x07{}"sv);
    EXPECT_TRUE(frame.index().empty());
}

TEST(Framing, SchemaIdHeaderMayCarryTheIndexes) {
    const std::string header = std::string(guid_header) + "\x04\x02\x06";
    const ConfluentFrame frame =
        unframed("body", MessageIndex::present, {{"__value_schema_id", header}});
    EXPECT_EQ(frame.fault, nullptr);
    EXPECT_EQ(frame.payload, "body");
    EXPECT_EQ(index_of(frame), (std::vector<std::int32_t>{1, 3}));
}

TEST(Framing, BadSchemaIdHeaderIsAFault) {
    for (const std::string_view id : {"\x01short"sv,
                                      "\0"
                                      "0123456789abcdef"sv,
                                      ""sv}) {
        EXPECT_NE(unframed("{}", MessageIndex::none, {{"__value_schema_id", id}}).fault, nullptr);
    }
}

}  // namespace
}  // namespace onceward::test
