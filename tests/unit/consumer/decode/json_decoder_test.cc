#include "dedup/base/json_reader.h"
#include "tests/unit/consumer/records.h"

namespace onceward::test {
namespace {

using Kind = Value::Kind;

Decoding json(std::vector<std::string> paths) {
    return Decoding(FormatOptions{}, std::move(paths));
}

std::string rejection_of(std::string_view payload, std::vector<std::string> paths = {"/a"}) {
    Decoding decoding = json(std::move(paths));
    decoding.decode(payload);
    return decoding.reason();
}

TEST(JsonDecoder, FindsEachKindOfValue) {
    Decoding decoding = json({"/text", "/number", "/yes", "/nothing", "/object", "/list", "/none"});
    decoding.decode(R"( {"text":"hé","number":-1.50e+2,"yes":true,"nothing":null,
                        "object":{"a": [1] } ,"list" : [ {} ] , "other":[true,false,null]} )");
    ASSERT_EQ(decoding.reason(), "");
    EXPECT_EQ(decoding[0].kind, Kind::text);
    EXPECT_EQ(decoding[0].text, "hé");
    EXPECT_EQ(decoding[1].kind, Kind::number);
    EXPECT_EQ(decoding[1].text, "-1.50e+2");
    EXPECT_EQ(decoding[2].kind, Kind::boolean);
    EXPECT_TRUE(decoding[2].boolean);
    EXPECT_EQ(decoding[3].kind, Kind::null);
    EXPECT_EQ(decoding[4].kind, Kind::json);
    EXPECT_EQ(decoding[4].text, R"({"a": [1] })");
    EXPECT_EQ(decoding[5].kind, Kind::json);
    EXPECT_EQ(decoding[5].text, "[ {} ]");
    EXPECT_EQ(decoding[6].kind, Kind::absent);
}

TEST(JsonDecoder, KeepsNumbersBeyondTwoToThe53) {
    Decoding decoding = json({"/id", "/price"});
    decoding.decode(R"({"id":9007199254740993,"price":0.1000000000000000000000000000000000001})");
    EXPECT_EQ(decoding[0].text, "9007199254740993");
    EXPECT_EQ(decoding[1].text, "0.1000000000000000000000000000000000001");
    decoding.decode(R"({"id":123456789012345678901234567890123456789012345678901234567890})");
    EXPECT_EQ(decoding[0].text, "123456789012345678901234567890123456789012345678901234567890");
    EXPECT_EQ(decoding[1].kind, Kind::absent);
}

TEST(JsonDecoder, PointersFollowRfc6901) {
    Decoding decoding = json({"", "/a~1b", "/m~0n", "/list/1/x", "/", "/ ", "/~01", "/list/01"});
    const std::string_view document =
        R"({"a/b":1,"m~n":2,"list":[{"x":3},{"x":4}],"":5," ":6,"~1":7})";
    decoding.decode(document);
    ASSERT_EQ(decoding.reason(), "");
    EXPECT_EQ(decoding[0].text, document);
    EXPECT_EQ(decoding[1].text, "1");
    EXPECT_EQ(decoding[2].text, "2");
    EXPECT_EQ(decoding[3].text, "4");
    EXPECT_EQ(decoding[4].text, "5");
    EXPECT_EQ(decoding[5].text, "6");
    EXPECT_EQ(decoding[6].text, "7");
    EXPECT_EQ(decoding[7].kind, Kind::absent);
}

TEST(JsonDecoder, BadPointersAreSetUpErrors) {
    EXPECT_THROW(json({"order"}), FormatError);
    EXPECT_THROW(json({"/a~2"}), FormatError);
    EXPECT_THROW(json({"/a~"}), FormatError);
}

TEST(JsonDecoder, AContainerAndItsMembersComeFromOneWalk) {
    Decoding decoding = json({"/o", "/o/b", "/o/b/c", "/o/b/c", "/after"});
    decoding.decode("{\"o\": {\"b\" : {\"c\":\"x\\ny\"}\n}\n ,\"after\":1}");
    ASSERT_EQ(decoding.reason(), "");
    EXPECT_EQ(decoding[0].text, "{\"b\" : {\"c\":\"x\\ny\"}\n}");
    EXPECT_EQ(decoding[1].text, "{\"c\":\"x\\ny\"}");
    EXPECT_EQ(decoding[2].text, "x\ny");
    EXPECT_EQ(decoding[3].text, "x\ny");
    EXPECT_EQ(decoding[4].text, "1");
}

TEST(JsonDecoder, ResolvesEscapes) {
    Decoding decoding = json({"/a", "/b"});
    decoding.decode(R"({"\u0061":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00","b":"x\u0000y"})");
    ASSERT_EQ(decoding.reason(), "");
    EXPECT_EQ(decoding[0].text, "\"\\/\b\f\n\r\t\u00e9\U0001F600");
    EXPECT_EQ(decoding[1].text, "x\0y"sv);
}

TEST(JsonDecoder, ScalarDocumentsHaveTheEmptyPointer) {
    Decoding decoding = json({""});
    decoding.decode(" \"a\\tb\" ");
    EXPECT_EQ(decoding[0].kind, Kind::text);
    EXPECT_EQ(decoding[0].text, "a\tb");
    decoding.decode("12345678901234567890");
    EXPECT_EQ(decoding[0].text, "12345678901234567890");
    decoding.decode("[1, 2]");
    EXPECT_EQ(decoding[0].kind, Kind::json);
    EXPECT_EQ(decoding[0].text, "[1, 2]");
    EXPECT_EQ(decoding.reason(), "");
}

TEST(JsonDecoder, WhatHasNoneOfTheWantedFieldsAndIsNoObjectIsRejected) {
    for (const char* document : {"5", "null", " [1]", "\"a\"", "true", "[]"}) {
        EXPECT_NE(rejection_of(document).find("not a JSON object"), std::string::npos) << document;
    }
    EXPECT_EQ(rejection_of("{}"), "");
}

TEST(JsonDecoder, AWantedMemberThatIsThereTwiceIsRejected) {
    EXPECT_NE(rejection_of(R"({"a":1,"a":1})").find("`/a` is there twice"), std::string::npos);
    EXPECT_NE(rejection_of(R"({"a":1,"\u0061":2})"), "");
    EXPECT_NE(rejection_of(R"({"a":{"b":1},"a":{"c":1}})", {"/a/b"}), "");
    EXPECT_NE(rejection_of(R"({"a":{"b":1,"b":2}})", {"/a/b"}), "");
    EXPECT_EQ(rejection_of(R"({"a":1,"x":1,"x":2})"), "");
    EXPECT_EQ(rejection_of(R"({"a":1,"b":{"a":2}})"), "");
}

TEST(JsonDecoder, EachDocumentIsANewWalk) {
    Decoding decoding = json({"/a"});
    for (int i = 0; i < 3; ++i) {
        decoding.decode(R"({"a":1})");
        EXPECT_EQ(decoding.reason(), "");
    }
}

TEST(JsonDecoder, DepthIsBounded) {
    const auto nested = [](std::size_t depth, char open, char close) {
        return "{\"a\":1,\"b\":" + std::string(depth, open) + std::string(depth, close) + "}";
    };
    EXPECT_EQ(rejection_of(nested(json_depth_max - 1, '[', ']')), "");
    const std::string reason = rejection_of(nested(json_depth_max, '[', ']'));
    EXPECT_NE(reason.find("deeper"), std::string::npos) << reason;
    EXPECT_NE(rejection_of(nested(10'000, '[', ']')), "");
    EXPECT_NE(rejection_of(std::string(10'000, '[')), "");
    std::string objects;
    for (int i = 0; i < 10'000; ++i) objects += "{\"a\":";
    EXPECT_NE(rejection_of(objects + "1" + std::string(10'000, '}')), "");
}

TEST(JsonDecoder, MalformedDocumentsAreRejected) {
    for (const std::string_view payload : {""sv,
                                           " "sv,
                                           "{"sv,
                                           "}"sv,
                                           "{\"a\":1"sv,
                                           "{\"a\":1}}"sv,
                                           "{\"a\":1} x"sv,
                                           "{\"a\":1}{\"a\":2}"sv,
                                           "{\"a\":1},"sv,
                                           "1 2"sv,
                                           "nul"sv,
                                           "{\"a\"}"sv,
                                           "{\"a\":}"sv,
                                           "{\"a\" 1}"sv,
                                           "{a:1}"sv,
                                           "{\"a\":01}"sv,
                                           "{\"a\":1.}"sv,
                                           "{\"a\":.5}"sv,
                                           "{\"a\":+1}"sv,
                                           "{\"a\":-}"sv,
                                           "{\"a\":1e}"sv,
                                           "{\"a\":NaN}"sv,
                                           "{\"a\":tru}"sv,
                                           "{\"a\":truee}"sv,
                                           "{\"a\":1,}"sv,
                                           "{,\"a\":1}"sv,
                                           "[1,]"sv,
                                           "[1 2]"sv,
                                           "{\"a\":[1}"sv,
                                           "{\"a\":{]}"sv,
                                           "{\"a\":\"x}"sv,
                                           "{\"a\":\"\\x\"}"sv,
                                           "{\"a\":\"\\u12\"}"sv,
                                           "{\"a\":'x'}"sv,
                                           "{\"a\":\"x\"y}"sv,
                                           "{\"a\":1\0}"sv,
                                           "\0"sv,
                                           "{\"a\":\"\t\"}"sv,
                                           "{\"a\":\"\\ud800\"}"sv,
                                           "{\"a\":\"\\udc00\"}"sv,
                                           "{\"a\":\"\\ud800\\ud800\"}"sv,
                                           "{\"\\ud800\":1}"sv,
                                           "{\"a\":\"\xff\"}"sv,
                                           "{\"a\":\"\xc0\xaf\"}"sv,
                                           "{\"a\":\"\xed\xa0\x80\"}"sv,
                                           "{\"\xff\":1}"sv,
                                           "\xff\xfe{"sv,
                                           "\xef\xbb\xbf{\"a\":1}"sv}) {
        EXPECT_NE(rejection_of(payload), "") << payload;
    }
}

TEST(JsonDecoder, WhatIsRejectedDoesNotDependOnTheMapping) {
    for (const std::string_view payload :
         {R"({"a":1,"b":[1 2]})"sv, R"({"a":1,"b":tru})"sv, R"({"a":1,"b":{"c":01}})"sv,
          R"({"a":1,"b":"\x"})"sv, R"({"a":1,"b":[}})"sv, R"({"a":1,"b":{"\q":1}})"sv,
          // The fuzzer's: simdjson took such a string for a member's name.
          R"({"a":1,"b":["x":{"a":2}]})"sv, R"({"a":1,"b":"x":{"a":2}})"sv,
          R"(["x",	"y":null}])"sv}) {
        EXPECT_NE(rejection_of(payload), "") << payload;
        EXPECT_NE(rejection_of(payload, {}), "") << payload;
    }
}

// Every prefix and every single-byte change of a document either decodes or is rejected; nothing
// reads out of bounds (the sanitizer builds would tell).
TEST(JsonDecoder, SurvivesEveryTruncationAndByteChange) {
    const std::string document =
        R"({"a":"x\u00e9\"","b":{"c":[1,2.5e3,{"d":null}],"e":true},"f":-0,"\u0067":[]})";
    Decoding decoding = json({"/a", "/b", "/b/c/2/d", "/g", ""});
    for (std::size_t length = 0; length < document.size(); ++length) {
        EXPECT_TRUE(decoding.decode(document.substr(0, length)).rejection.has_value()) << length;
    }
    int decoded = 0;
    for (std::size_t at = 0; at < document.size(); ++at) {
        for (const char change : "\"\\{}[],:0e\xff"sv) {
            std::string changed = document;
            changed[at] = change;
            decoded += decoding.decode(changed).rejection ? 0 : 1;
        }
    }
    EXPECT_GT(decoded, 0);
}

TEST(JsonDecoder, ReasonsHoldNoPayload) {
    EXPECT_EQ(rejection_of(R"({"a":secret})").find("secret"), std::string::npos);
    EXPECT_EQ(rejection_of("secret").find("secret"), std::string::npos);
}

TEST(JsonDecoder, ConfluentFrameIsTakenOff) {
    FormatOptions options;
    options.framing = Framing::confluent;
    Decoding decoding(options, {"/a"});
    decoding.decode("\0\0\0\x01\x02{\"a\":5}"sv);
    EXPECT_EQ(decoding.reason(), "");
    EXPECT_EQ(decoding[0].text, "5");
    EXPECT_TRUE(decoding.decode("{\"a\":5}").rejection.has_value());
    decoding.decode("{\"a\":6}", {{"__value_schema_id",
                                   "\x01"
                                   "0123456789abcdef"sv}});
    EXPECT_EQ(decoding.reason(), "");
    EXPECT_EQ(decoding[0].text, "6");
}

TEST(RawDecoder, TheEmptyPathIsThePayload) {
    FormatOptions options;
    options.format = Format::raw;
    Decoding decoding(options, {""});
    decoding.decode("\xff\0x"sv);
    EXPECT_EQ(decoding[0].kind, Kind::bytes);
    EXPECT_EQ(decoding[0].text, "\xff\0x"sv);
    EXPECT_THROW(Decoding(options, {"/a"}), FormatError);
}

}  // namespace
}  // namespace onceward::test
