#include "consumer/produce/record_encoder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "consumer/decode/decoder.h"
#include "tests/support/unique.h"

namespace onceward {
namespace {

std::string error_of(RecordEncoder& encoder, const std::string& json) {
    try {
        encoder.encode(json);
    } catch (const EncodeError& error) {
        return error.what();
    }
    return "no error";
}

TEST(RecordEncoder, JsonGoesOutByteForByte) {
    RecordEncoder encoder(FormatOptions{});
    const std::string text = R"( {"b": 1.500, "a":  "x"} )";
    EXPECT_EQ(encoder.encode(text).payload, text);
}

TEST(RecordEncoder, FieldsAreFoundByNameAndByPointer) {
    RecordEncoder encoder(FormatOptions{}, {"id", "/order/id", "a/b", "none"});
    const auto encoded =
        encoder.encode(R"({"id": "x\ny", "order": {"id": 12345678901234567890.50}, "a/b": true})");
    EXPECT_EQ(encoded.fields[0], "x\ny");
    EXPECT_EQ(encoded.fields[1], "12345678901234567890.50");
    EXPECT_EQ(encoded.fields[2], "true");
    EXPECT_EQ(encoded.fields[3], std::nullopt);
}

TEST(RecordEncoder, WhatIsNoJsonObjectIsRefused) {
    RecordEncoder encoder(FormatOptions{}, {"id"});
    for (const char* bad : {"", "[1]", "7", "{\"a\":}", "{\"a\":1} x", "{\"id\": {}}"})
        EXPECT_NE(error_of(encoder, bad), "no error") << bad;
}

class ProtobufEncoding : public testing::Test {
  protected:
    ProtobufEncoding() {
        std::filesystem::create_directory(folder_);
        std::ofstream(folder_ / "shop.proto") << R"(
            syntax = "proto3";
            package shop;
            message Order { int64 id = 1; string name = 2; bool paid = 3; }
        )";
        format_.format = Format::protobuf;
        format_.proto_files = {(folder_ / "shop.proto").string()};
        format_.message = "shop.Order";
    }
    ~ProtobufEncoding() override { std::filesystem::remove_all(folder_); }

    std::filesystem::path folder_ =
        std::filesystem::temp_directory_path() / support::unique_name("encoder");
    FormatOptions format_;
};

TEST_F(ProtobufEncoding, JsonBecomesTheMessagesBytes) {
    RecordEncoder encoder(format_, {"name"});
    const auto encoded = encoder.encode(R"({"id": "300", "name": "x", "paid": true})");
    EXPECT_EQ(encoded.payload, "\x08\xAC\x02\x12\x01x\x18\x01");
    EXPECT_EQ(encoded.fields[0], "x");
}

TEST_F(ProtobufEncoding, AFieldThatTheMessageLacksIsNamed) {
    RecordEncoder encoder(format_);
    EXPECT_NE(error_of(encoder, R"({"colour": 1})").find("colour"), std::string::npos);
}

TEST_F(ProtobufEncoding, AMessageThatIsNotThereCannotBeSetUp) {
    format_.message = "shop.Invoice";
    EXPECT_THROW(RecordEncoder{format_}, FormatError);
}

}  // namespace
}  // namespace onceward
