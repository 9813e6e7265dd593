// The walk over the wire format says what a parser and Protobuf's reflection say.

#include "consumer/decode/protobuf_wire.h"

#include <gmock/gmock.h>
#include <google/protobuf/compiler/parser.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "consumer/decode/descriptor_pool.h"
#include "consumer/decode/protobuf_fields.h"
#include "tests/unit/consumer/records.h"

namespace onceward::test {
namespace {

using namespace std::string_literals;
namespace proto = google::protobuf;
using Kind = Value::Kind;

const char* const wire_proto = R"(
syntax = "proto3";
package wire.v1;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message Line { string sku = 1; sint64 units = 2; Line below = 3; google.protobuf.Timestamp at = 4; }
message Sample {
  enum State { UNKNOWN = 0; DONE = 1; }
  double d = 1; float f = 2; int64 i64 = 3; uint64 u64 = 4; int32 i32 = 5; fixed64 x64 = 6;
  fixed32 x32 = 7; bool b = 8; string s = 9; bytes raw = 10; uint32 u32 = 11; State e = 12;
  sfixed32 sx32 = 13; sfixed64 sx64 = 14; sint32 s32 = 15; sint64 s64 = 16;
  optional int32 maybe = 17; Line line = 18; google.protobuf.Timestamp at = 19;
  google.protobuf.StringValue note = 20; google.protobuf.Int64Value limit = 21;
  repeated int64 numbers = 22; oneof either { string left = 23; int32 right = 24; }
  map<string, int32> counts = 27; repeated Line lines = 28; repeated fixed32 marks = 29;
  repeated string names = 30;
}
)";
const std::vector<std::string> all_paths{"d",
                                         "f",
                                         "i64",
                                         "u64",
                                         "i32",
                                         "x64",
                                         "x32",
                                         "b",
                                         "s",
                                         "raw",
                                         "u32",
                                         "e",
                                         "sx32",
                                         "sx64",
                                         "s32",
                                         "s64",
                                         "maybe",
                                         "line.sku",
                                         "line.units",
                                         "at",
                                         "note",
                                         "limit",
                                         "line.below.sku",
                                         "line.at",
                                         "at.seconds",
                                         "line.below.at",
                                         "line.sku"};

class ProtobufWireTest : public ::testing::Test {
  protected:
    ProtobufWireTest() {
        folder_ = std::filesystem::path(::testing::TempDir()) /
                  ("onceward-wire-" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder_);
        std::ofstream(folder_ / "wire.proto") << wire_proto;
        FormatOptions options;
        options.format = Format::protobuf;
        options.proto_files = {folder_ / "wire.proto"};
        options.message = "wire.v1.Sample";
        type_.emplace(options);
        factory_.emplace(&type_->pool());
        std::vector<ProtobufPath> compiled;
        for (const auto& path : all_paths) {
            compiled.push_back(compile_path(type_->descriptor(), path));
        }
        fields_.emplace(type_->pool(), std::move(compiled));
        all_ = walk_of(all_paths);
        message_.reset(factory_->GetPrototype(&type_->descriptor())->New());
    }
    ~ProtobufWireTest() override { std::filesystem::remove_all(folder_); }
    std::unique_ptr<ProtobufWire> walk_of(const std::vector<std::string>& paths) {
        std::vector<ProtobufPath> compiled;
        for (const auto& path : paths) compiled.push_back(compile_path(type_->descriptor(), path));
        return ProtobufWire::make(type_->descriptor(), compiled);
    }
    // Empty where the parser refuses it.
    std::vector<std::string> parsed(const std::string& payload) {
        if (!message_->ParsePartialFromString(payload)) return {};
        std::vector<Value> values(all_paths.size());
        std::pmr::monotonic_buffer_resource arena;
        return fields_->read(*message_, values, arena) == nullptr ? texts(values)
                                                                  : std::vector<std::string>{};
    }
    std::vector<std::string> walked(const std::string& payload) {
        std::vector<Value> values(all_paths.size());
        std::pmr::monotonic_buffer_resource arena;
        return all_->read(payload, values, arena) ? texts(values) : std::vector<std::string>{};
    }
    static std::vector<std::string> texts(const std::vector<Value>& values) {
        std::vector<std::string> all;
        for (const Value& value : values) {
            std::string text =
                std::to_string(static_cast<int>(value.kind)) + ":" + std::string(value.text);
            if (value.kind == Kind::real) {
                text += std::to_string(value.real);
            } else if (value.kind == Kind::boolean) {
                text += value.boolean ? "true" : "false";
            } else if (value.kind == Kind::integer || value.kind == Kind::natural ||
                       value.kind == Kind::timestamp) {
                text += std::to_string(value.integer);
            }
            all.push_back(text);
        }
        return all;
    }
    std::string random_payload(std::mt19937& random, int depth) {
        const auto pick = [&](unsigned most) { return random() % (most + 1); };
        const auto varint = [](std::uint64_t bits) {
            std::string bytes;
            for (; bits >= 0x80; bits >>= 7) bytes += static_cast<char>(bits | 0x80);
            return bytes + static_cast<char>(bits);
        };
        std::string payload;
        for (unsigned fields = pick(8); fields > 0; --fields) {
            const unsigned number = 1 + pick(29);
            const unsigned form = pick(9) < 8 ? natural_form(number) : pick(7);
            payload += varint(number << 3 | form);
            std::uint64_t bits = std::uint64_t{random()} << 32 | random();
            bits >>= pick(63);
            if (form == 0) payload += varint(bits);
            if (form == 1) payload += std::string(reinterpret_cast<const char*>(&bits), 8);
            if (form == 5) payload += std::string(reinterpret_cast<const char*>(&bits), 4);
            if (form == 2) {
                std::string inner = depth > 0 && pick(3) > 0 ? random_payload(random, depth - 1)
                                                             : std::string(pick(3), 'x');
                payload += varint(inner.size() + (pick(60) == 0 ? 1 : 0)) + inner;
            }
            if (form == 3) payload += varint(1 << 3) + "\x07" + varint(number << 3 | 4);
        }
        return payload;
    }
    // So many messages in each other.
    static std::string lines(int depth) {
        std::string payload;
        for (int i = 1; i < depth; ++i) payload = "\x1a" + size_of(payload) + payload;
        return "\x92\x01" + size_of(payload) + payload;
    }
    static std::string size_of(const std::string& bytes) {
        std::string size;
        auto left = bytes.size();
        for (; left >= 0x80; left >>= 7) size += static_cast<char>(left | 0x80);
        return size + static_cast<char>(left);
    }
    static unsigned natural_form(unsigned number) {
        switch (number) {
            case 1:
            case 6:
            case 14: return 1;
            case 2:
            case 7:
            case 13: return 5;
            case 9:
            case 10:
            case 18:
            case 19:
            case 20:
            case 21:
            case 22:
            case 23:
            case 27:
            case 28:
            case 29:
            case 30: return 2;
            default: return 0;
        }
    }

    std::filesystem::path folder_;
    std::optional<MessageType> type_;
    std::optional<proto::DynamicMessageFactory> factory_;
    std::unique_ptr<proto::Message> message_;
    std::optional<ProtobufFields> fields_;
    std::unique_ptr<ProtobufWire> all_;
    std::pmr::monotonic_buffer_resource arena_;
};

// Payloads at random, most of them of the type's own forms: fields that come twice, messages in
// parts, wrong forms, groups, broken lengths.
TEST_F(ProtobufWireTest, SaysWhatAParserSays) {
    std::mt19937 random(7);
    int accepted = 0;
    for (int i = 0; i < 30'000; ++i) {
        const std::string payload = random_payload(random, 3);
        const auto expected = parsed(payload);
        accepted += expected.empty() ? 0 : 1;
        ASSERT_EQ(walked(payload), expected) << i << ' ' << ::testing::PrintToString(payload);
    }
    EXPECT_GT(accepted, 6'000);
}

TEST_F(ProtobufWireTest, TheLastOfAFieldCountsAndMessagesAreMerged) {
    const auto walk = walk_of({"i64", "line.sku", "line.units"});
    std::vector<Value> values(3);
    ASSERT_TRUE(walk->read("\x18\x01\x18\x02\x92\x01\x03\x0a\x01k\x92\x01\x02\x10\x04"s, values,
                           arena_));
    EXPECT_EQ(values[0].integer, 2);
    EXPECT_EQ(values[1].text, "k");
    EXPECT_EQ(values[2].integer, 2);
}

// What is rejected does not depend on the mapping.
TEST_F(ProtobufWireTest, WhatIsNotWantedIsCheckedAsAParserChecksIt) {
    const auto walk = walk_of({"i64"});
    std::vector<Value> values(1);
    const std::vector<std::string> broken{
        "\x4a\x01\xff"s,                      // a text that is not UTF-8
        "\x92\x01\x03\x0a\x01\xff"s,          // one in a message
        "\x92\x01\x02\x0a\x09"s,              // a message that is cut short
        "\xb2\x01\x02\x01\xff"s,              // numbers in one piece, the last without its end
        "\xda\x01\x05\x0a\x01\xff\x10\x01"s,  // a map's key
        "\xea\x01\x05\x01\x02\x03\x04\x05"s,  // a half fixed32
        "\x4a\x05\xff"s,                      // cut short
        "\x07"s,                              // a form without a meaning
        "\x0c"s,                              // the end of a group that never began
        "\x98\x80\x80\x80\x80\x00\x05"s,      // a number that is too long
        std::string(300, '\x0b'),             // groups without end
        lines(101),
    };
    for (const std::string& payload : broken) {
        EXPECT_FALSE(walk->read(payload, values, arena_)) << ::testing::PrintToString(payload);
        EXPECT_TRUE(parsed(payload).empty()) << ::testing::PrintToString(payload);
    }
    for (const std::string& payload : {lines(100), "\xb2\x01\x02\x01\x7f"s, "\xb0\x01\x7f"s}) {
        EXPECT_TRUE(walk->read(payload, values, arena_)) << ::testing::PrintToString(payload);
        EXPECT_FALSE(parsed(payload).empty()) << ::testing::PrintToString(payload);
    }
}

TEST_F(ProtobufWireTest, IsNotMadeWhereAMessageMustBeParsed) {
    for (const char* path : {"", "numbers", "line", "left", "right"}) {
        EXPECT_EQ(walk_of({"i64", path}), nullptr) << path;
    }
}

}  // namespace
}  // namespace onceward::test
