#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/util/json_util.h>

#include <filesystem>
#include <fstream>

#include "consumer/decode/descriptor_pool.h"
#include "tests/unit/consumer/records.h"

namespace onceward::test {
namespace {

using Kind = Value::Kind;
namespace proto = google::protobuf;

const char* const sample_proto = R"(
syntax = "proto3";
package sample.v1;
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message Other { string id = 1; message Inner { string id = 1; } }
message Sample {
  enum State { UNKNOWN = 0; DONE = 1; }
  message Line { string sku = 1; int64 units = 2; Sample whole = 3; }
  string id = 1;
  int64 big = 2;
  uint64 natural = 3;
  double ratio = 4;
  float share = 5;
  bool yes = 6;
  bytes blob = 7;
  State state = 8;
  Line line = 9;
  repeated Line lines = 10;
  repeated int64 numbers = 11;
  map<string, int32> counts = 12;
  google.protobuf.Timestamp at = 13;
  google.protobuf.StringValue note = 14;
  google.protobuf.Int64Value limit = 15;
  optional int32 maybe = 16;
  google.protobuf.Duration took = 17;
  oneof either { string left = 18; int32 right = 19; }
  google.protobuf.Value any = 20;
  fixed32 small = 21;
}
message Legacy { string id = 1; }
)";

// A folder with sample.proto, removed at the end.
class ProtobufDecoder : public ::testing::Test {
  protected:
    ProtobufDecoder() {
        folder_ = std::filesystem::path(::testing::TempDir()) /
                  ("onceward-protobuf-" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder_);
        write("sample.proto", sample_proto);
        options_.format = Format::protobuf;
        options_.proto_files = {path("sample.proto")};
        options_.message = "sample.v1.Sample";
    }
    ~ProtobufDecoder() override { std::filesystem::remove_all(folder_); }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }

    void write(const std::string& name, std::string_view content) const {
        std::ofstream(path(name), std::ios::binary) << content;
    }

    // The wire form of what Protobuf's JSON says.
    std::string encode(const std::string& json) const {
        const MessageType type(options_);
        proto::DynamicMessageFactory factory(&type.pool());
        const proto::Message* prototype = factory.GetPrototype(&type.descriptor());
        const std::unique_ptr<proto::Message> message(prototype->New());
        const auto status = proto::util::JsonStringToMessage(json, message.get());
        EXPECT_TRUE(status.ok()) << status.ToString();
        return message->SerializePartialAsString();
    }

    // The payload nested into itself: Sample.line.whole.line.whole...
    static std::string nested(int depth) {
        std::string payload;
        for (int i = 0; i < depth; ++i) {
            payload = wrapped(i % 2 == 0 ? '\x1a' : '\x4a', payload);  // Line.whole, Sample.line
        }
        return payload;
    }
    static std::string wrapped(char tag, const std::string& inner) {
        std::string result(1, tag);
        for (std::size_t size = inner.size();; size >>= 7) {
            result += static_cast<char>((size & 0x7f) | (size > 0x7f ? 0x80 : 0));
            if (size <= 0x7f) {
                return result + inner;
            }
        }
    }

    std::string set_up_error(std::vector<std::string> paths = {}) const {
        try {
            Decoding decoding(options_, std::move(paths));
        } catch (const FormatError& error) {
            return error.what();
        }
        return "";
    }

    std::filesystem::path folder_;
    FormatOptions options_;
};

TEST_F(ProtobufDecoder, FindsEachKindOfValue) {
    Decoding decoding(options_, {"id", "big", "natural", "ratio", "share", "yes", "blob", "state",
                                 "line.sku", "line.units", "small"});
    decoding.decode(encode(R"({"id":"é","big":"-9223372036854775808",
        "natural":"18446744073709551615","ratio":0.1,"share":0.5,"yes":true,"blob":"/wA=",
        "state":"DONE",
        "line":{"sku":"s","units":"9007199254740993"},"small":4294967295})"));
    ASSERT_EQ(decoding.reason(), "");
    EXPECT_EQ(decoding[0].kind, Kind::text);
    EXPECT_EQ(decoding[0].text, "é");
    EXPECT_EQ(decoding[1].kind, Kind::integer);
    EXPECT_EQ(decoding[1].integer, std::numeric_limits<std::int64_t>::min());
    EXPECT_EQ(decoding[2].kind, Kind::natural);
    EXPECT_EQ(decoding[2].natural, std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(decoding[3].kind, Kind::real);
    EXPECT_EQ(decoding[3].real, 0.1);
    EXPECT_EQ(decoding[4].real, 0.5);
    EXPECT_EQ(decoding[5].kind, Kind::boolean);
    EXPECT_TRUE(decoding[5].boolean);
    EXPECT_EQ(decoding[6].kind, Kind::bytes);
    EXPECT_EQ(decoding[6].text, "\xff\0"sv);
    EXPECT_EQ(decoding[7].text, "DONE");
    EXPECT_EQ(decoding[8].text, "s");
    EXPECT_EQ(decoding[9].integer, 9007199254740993);
    EXPECT_EQ(decoding[10].integer, 4294967295);
}

TEST_F(ProtobufDecoder, ListsMapsAndMessagesAreJson) {
    Decoding decoding(options_, {"lines", "numbers", "counts", "line", "any", "numbers", ""});
    decoding.decode(encode(R"({"lines":[{"sku":"a:\"b"},{"units":"2"}],"numbers":["1","2"],
        "counts":{"x":1},"line":{"sku":"s"},"any":{"k":[1]}})"));
    ASSERT_EQ(decoding.reason(), "");
    for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(decoding[i].kind, Kind::json);
    EXPECT_EQ(decoding[0].text, R"([{"sku":"a:\"b"},{"units":"2"}])");
    EXPECT_EQ(decoding[1].text, R"(["1","2"])");
    EXPECT_EQ(decoding[2].text, R"({"x":1})");
    EXPECT_EQ(decoding[3].text, R"({"sku":"s"})");
    EXPECT_EQ(decoding[4].text, R"({"k":[1]})");
    EXPECT_EQ(decoding[5].text, R"(["1","2"])");
    EXPECT_NE(decoding[6].text.find(R"("counts":{"x":1})"), std::string_view::npos);
}

TEST_F(ProtobufDecoder, WellKnownTypesAreTheirValues) {
    Decoding decoding(options_, {"at", "note", "limit", "took"});
    decoding.decode(encode(R"({"at":"2024-02-29T12:00:00.123456789Z","note":"","limit":"5",
        "took":"1.500s"})"));
    ASSERT_EQ(decoding.reason(), "");
    EXPECT_EQ(decoding[0].kind, Kind::timestamp);
    EXPECT_EQ(decoding[0].integer, 1'709'208'000'123'456);
    EXPECT_EQ(decoding[1].kind, Kind::text);
    EXPECT_EQ(decoding[1].text, "");
    EXPECT_EQ(decoding[2].integer, 5);
    EXPECT_EQ(decoding[3].kind, Kind::text);
    EXPECT_EQ(decoding[3].text, "1.500s");
}

TEST_F(ProtobufDecoder, UnsetIsAbsentOnlyWithPresence) {
    Decoding decoding(options_, {"id", "big", "maybe", "note", "at", "left", "right", "line.sku",
                                 "lines", "counts", "state"});
    decoding.decode("");
    ASSERT_EQ(decoding.reason(), "");
    EXPECT_EQ(decoding[0].kind, Kind::text);
    EXPECT_EQ(decoding[1].kind, Kind::integer);
    EXPECT_EQ(decoding[1].integer, 0);
    for (std::size_t i = 2; i < 8; ++i) EXPECT_EQ(decoding[i].kind, Kind::absent) << i;
    EXPECT_EQ(decoding[8].text, "[]");
    EXPECT_EQ(decoding[9].text, "{}");
    EXPECT_EQ(decoding[10].text, "UNKNOWN");
    decoding.decode(encode(R"({"maybe":0,"right":0,"line":{}})"));
    EXPECT_EQ(decoding[2].kind, Kind::integer);
    EXPECT_EQ(decoding[5].kind, Kind::absent);
    EXPECT_EQ(decoding[6].kind, Kind::integer);
    EXPECT_EQ(decoding[7].kind, Kind::text);
}

TEST_F(ProtobufDecoder, NothingOfThePayloadBeforeIsLeft) {
    Decoding decoding(options_, {"id", "note", "lines"});
    decoding.decode(encode(R"({"id":"a","note":"n","lines":[{}]})"));
    decoding.decode("");
    EXPECT_EQ(decoding[0].text, "");
    EXPECT_EQ(decoding[1].kind, Kind::absent);
    EXPECT_EQ(decoding[2].text, "[]");
}

TEST_F(ProtobufDecoder, AnEnumNumberWithoutANameStaysANumber) {
    Decoding decoding(options_, {"state"});
    decoding.decode("\x40\x07"sv);
    EXPECT_EQ(decoding[0].kind, Kind::integer);
    EXPECT_EQ(decoding[0].integer, 7);
}

TEST_F(ProtobufDecoder, MalformedPayloadsAreRejected) {
    Decoding decoding(options_, {"id"});
    for (const std::string_view payload :
         {"\x0a\x05"
          "ab"sv,
          "\x0a"sv, "\xff"sv, "\x00"sv, "\x0a\x01\xff"sv, "\x0f"sv, "\x0b"sv,
          "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv, "\x4a\x02\x0a\x09"sv,
          "{\"id\":1}"sv}) {
        EXPECT_TRUE(decoding.decode(payload).rejection.has_value())
            << ::testing::PrintToString(payload);
    }
    EXPECT_NE(decoding.reason().find("sample.v1.Sample"), std::string::npos);
}

TEST_F(ProtobufDecoder, RecursionIsBounded) {
    Decoding decoding(options_, {"id", "line"});
    EXPECT_FALSE(decoding.decode(nested(20)).rejection.has_value());
    EXPECT_TRUE(decoding.decode(nested(10'000)).rejection.has_value());
}

// Protobuf prints nothing for it, and nothing is no JSON.
TEST_F(ProtobufDecoder, AValueWithoutAKindIsRejected) {
    Decoding decoding(options_, {"any"});
    decoding.decode("\xa2\x01\x00"sv);
    EXPECT_THAT(decoding.reason(), ::testing::HasSubstr("no JSON form"));
    decoding.decode("\xa2\x01\x02\x08\x00"sv);
    EXPECT_EQ(decoding.reason(), "");
    EXPECT_EQ(decoding[0].kind, Kind::null);
}

TEST_F(ProtobufDecoder, RecursionInAValueIsBounded) {
    Decoding decoding(options_, {"any"});
    const auto nested_lists = [](int depth) {
        std::string value("\x08\x00", 2);
        for (int i = 0; i < depth; ++i) value = wrapped('\x32', wrapped('\x0a', value));
        return "\xa2" + wrapped('\x01', value);
    };
    decoding.decode(nested_lists(10));
    EXPECT_EQ(decoding[0].text, std::string(10, '[') + "null" + std::string(10, ']'));
    for (const int depth : {45, 60, 10'000}) {
        EXPECT_TRUE(decoding.decode(nested_lists(depth)).rejection.has_value()) << depth;
    }
}

// Fingerprints see microseconds; what is finer is for the columns to keep or to refuse.
TEST_F(ProtobufDecoder, ATimestampsNanosecondsStayInItsText) {
    Decoding decoding(options_, {"at"});
    decoding.decode("\x6a\x07\x08\x01\x10\x85\xa6\xce\x01"sv);
    EXPECT_EQ(decoding[0].integer, 1'003'379);
    EXPECT_EQ(decoding[0].text, "1970-01-01T00:00:01.003379973Z");
    decoding.decode("\x6a\x05\x08\x01\x10\xe8\x07"sv);
    EXPECT_EQ(decoding[0].integer, 1'000'001);
    EXPECT_EQ(decoding[0].text, "");
}

TEST_F(ProtobufDecoder, ATimestampOutOfRangeIsRejected) {
    Decoding decoding(options_, {"at"});
    decoding.decode("\x6a\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f"sv);
    EXPECT_NE(decoding.reason().find("Timestamp"), std::string::npos);
    EXPECT_TRUE(decoding.decode("\x6a\x06\x10\x80\x94\xeb\xdc\x03"sv).rejection.has_value());
}

TEST_F(ProtobufDecoder, TheMessageIndexMustNameTheConfiguredMessage) {
    options_.framing = Framing::confluent;
    Decoding decoding(options_, {"id"});
    const std::string payload = encode(R"({"id":"x"})");
    decoding.decode(std::string("\0\0\0\0\x01\x02\x02"sv) + payload);  // [1]
    EXPECT_EQ(decoding.reason(), "");
    EXPECT_EQ(decoding[0].text, "x");
    decoding.decode(std::string("\0\0\0\0\x01\0"sv) + payload);  // [0]
    EXPECT_NE(decoding.reason().find("sample.v1.Other, "), std::string::npos);
    EXPECT_NE(decoding.reason().find("configured for sample.v1.Sample"), std::string::npos);
    decoding.decode(std::string("\0\0\0\0\x01\x04\0\0"sv) + payload);  // [0, 0]
    EXPECT_NE(decoding.reason().find("sample.v1.Other.Inner"), std::string::npos);
    decoding.decode(std::string("\0\0\0\0\x01\x02\x12"sv) + payload);  // [9]
    EXPECT_NE(decoding.reason().find("no message of sample.proto"), std::string::npos);
    decoding.decode(payload, {{"__value_schema_id",
                               "\x01"
                               "0123456789abcdef"sv}});
    EXPECT_EQ(decoding.reason(), "");
    options_.message = "sample.v1.Other.Inner";
    Decoding inner(options_, {"id"});
    inner.decode(std::string("\0\0\0\0\x01\x04\0\0"sv) + "\x0a\x01x");
    EXPECT_EQ(inner.reason(), "");
    EXPECT_EQ(inner[0].text, "x");
}

TEST_F(ProtobufDecoder, UnknownNamesAreSetUpErrorsWithAHint) {
    EXPECT_NE(set_up_error({"naturel"}).find("did you mean `natural`"), std::string::npos);
    EXPECT_NE(set_up_error({"line.skew"}).find("did you mean `sku`"), std::string::npos);
    EXPECT_NE(set_up_error({"lines.sku"}).find("repeated"), std::string::npos);
    EXPECT_NE(set_up_error({"id.x"}).find("no message"), std::string::npos);
    EXPECT_NE(set_up_error({"/id"}), "");
    options_.message = "Sample";
    EXPECT_NE(set_up_error().find("did you mean `sample.v1.Sample`"), std::string::npos);
    options_.message = "sample.v1.Sampel";
    EXPECT_NE(set_up_error().find("did you mean `sample.v1.Sample`"), std::string::npos);
}

TEST_F(ProtobufDecoder, BadFilesAreSetUpErrorsThatNameThem) {
    options_.proto_files = {path("missing.proto")};
    EXPECT_NE(set_up_error().find("missing.proto"), std::string::npos);
    write("broken.proto", "syntax = \"proto3\";\nmessage A { strin id = ; }\n");
    options_.proto_files = {path("broken.proto")};
    EXPECT_NE(set_up_error().find("broken.proto:2:"), std::string::npos) << set_up_error();
    write("importing.proto", "syntax = \"proto3\"; import \"nowhere.proto\";");
    options_.proto_files = {path("importing.proto")};
    EXPECT_NE(set_up_error().find("nowhere.proto"), std::string::npos) << set_up_error();
    options_.proto_files.clear();
    EXPECT_NE(set_up_error(), "");
    options_.descriptor_set = path("missing.bin");
    EXPECT_NE(set_up_error().find("missing.bin"), std::string::npos);
    options_.descriptor_set = path("sample.proto");
    EXPECT_NE(set_up_error().find("is not a descriptor set"), std::string::npos);
}

TEST_F(ProtobufDecoder, ADescriptorSetWorksInAnyOrderAndWithoutTheWellKnownTypes) {
    const std::string payload = encode(R"({"id":"x","at":"1970-01-01T00:00:01Z"})");
    proto::FileDescriptorSet set;
    MessageType(options_).descriptor().file()->CopyTo(set.add_file());
    write("sample.bin", set.SerializeAsString());
    options_.proto_files.clear();
    options_.descriptor_set = path("sample.bin");
    Decoding decoding(options_, {"id", "at"});
    decoding.decode(payload);
    EXPECT_EQ(decoding[0].text, "x");
    EXPECT_EQ(decoding[1].integer, 1'000'000);
    set.mutable_file(0)->add_dependency("elsewhere.proto");
    write("sample.bin", set.SerializeAsString());
    EXPECT_NE(set_up_error().find("--include_imports"), std::string::npos);
}

TEST_F(ProtobufDecoder, RequiredFieldsOfProto2AreRequired) {
    write("old.proto",
          "syntax = \"proto2\"; package old; message A { required string id = 1; "
          "optional int32 n = 2 [default = 7]; }");
    options_.proto_files = {path("old.proto")};
    options_.message = "old.A";
    Decoding decoding(options_, {"id", "n"});
    decoding.decode("\x0a\x01x");
    EXPECT_EQ(decoding.reason(), "");
    EXPECT_EQ(decoding[0].text, "x");
    EXPECT_EQ(decoding[1].kind, Kind::absent);
    decoding.decode("");
    EXPECT_NE(decoding.reason().find("required field: id"), std::string::npos);
}

TEST_F(ProtobufDecoder, KeysComeFromItsFields) {
    KeyOptions key = keys({key_from(KeySource::Kind::field, "big")});
    Taking taking(key, options_, {{FieldSource::Kind::field, "id"}});
    const std::string payload = encode(R"({"id":"x","big":"9007199254740993"})");
    const Message& message = taking.take(payload);
    ASSERT_FALSE(message.rejection.has_value());
    EXPECT_EQ(message.key_text, "9007199254740993");
    EXPECT_EQ(message.fields[0].text, "x");
}

TEST_F(ProtobufDecoder, TheDemosPaymentLoads) {
    options_.proto_files = {std::string(ONCEWARD_SOURCE_FOLDER) + "/schemas/payment.proto"};
    options_.message = "onceward.demo.v1.Payment";
    Decoding decoding(options_, {"payment_id", "amount_minor", "payer.country", "reference"});
    decoding.decode(encode(R"({"payment_id":"p","amount_minor":"5","payer":{"country":"DE"}})"));
    EXPECT_EQ(decoding[1].integer, 5);
    EXPECT_EQ(decoding[2].text, "DE");
    EXPECT_EQ(decoding[3].kind, Kind::absent);
}

}  // namespace
}  // namespace onceward::test
