#include "gateway/checks/key_header.h"

#include <gtest/gtest.h>

#include "gateway/requests/keyed_request.h"

namespace onceward {
namespace {

KeyReading read(const std::string& value, KeyHeaderOptions options = {}) {
    return read_key({{"idempotency-key", value}}, options);
}

std::string text(const std::string& value, KeyFormat format) {
    const KeyReading reading = read(value, {.format = format});
    return reading.key ? reading.key->text : "fault " + std::to_string(int(*reading.fault));
}

const std::string malformed = "fault " + std::to_string(int(KeyFault::malformed));

TEST(KeyHeader, AStructuredStringIsTheTextBetweenItsQuotes) {
    for (const KeyFormat format : {KeyFormat::structured, KeyFormat::either}) {
        EXPECT_EQ(text(R"("8e03978e-40d5-43dd-bc93-6894a57f9324")", format),
                  "8e03978e-40d5-43dd-bc93-6894a57f9324");
        EXPECT_EQ(text(R"("a \"b\" \\ c")", format), R"(a "b" \ c)");
        EXPECT_EQ(text(R"(  "a"  )", format), "a");
    }
}

// RFC 8941, 3.3: an item may have parameters, and those that are not known are ignored.
TEST(KeyHeader, ParametersAreReadAndIgnored) {
    for (const char* value : {R"("a";x)", R"("a";x=1)",
                              R"("a"; x=-1.5;y="b;c";z=tok/en;w=?1;v=:YWI=:)", R"("a";*x-.9)"}) {
        EXPECT_EQ(text(value, KeyFormat::structured), "a") << value;
    }
}

TEST(KeyHeader, WhatIsNoStructuredStringIsMalformed) {
    for (const char* value : {"a",
                              "a b",
                              R"("a)",
                              R"(a")",
                              R"("a"b)",
                              R"("a" b)",
                              R"("a", "b")",
                              R"("a\b")",
                              R"("a\)",
                              "\"a\x01\"",
                              "\"a\xC3\xA9\"",
                              R"("a";)",
                              R"("a";X)",
                              R"("a";x=)",
                              R"("a";x=1.)",
                              R"("a";x=?2)",
                              R"("a";x=:a)",
                              R"("a";x=:a=b=c:)",
                              R"("a";x=:Y:)",
                              R"("a";x=:YQ===:)",
                              R"("a";x=:=:)",
                              R"("a";x=1234567890123456)",
                              R"("a" ;x)",
                              "1",
                              "?1",
                              ":YQ==:",
                              "()"}) {
        EXPECT_EQ(text(value, KeyFormat::structured), malformed) << value;
    }
}

TEST(KeyHeader, PlainTextIsTheKeyAsItIs) {
    for (const KeyFormat format : {KeyFormat::plain, KeyFormat::either}) {
        EXPECT_EQ(text("order-42/try_1", format), "order-42/try_1");
        EXPECT_EQ(text("a;x=1", format), "a;x=1");
    }
}

// Two lines that a proxy has joined would pass for a third key.
TEST(KeyHeader, PlainTextHasNoBlanksCommasQuotesOrOtherBytes) {
    for (const char* value : {"a b", "a,b", "a, b", "a\"", "a\tb", "a\x7F", "caf\xC3\xA9"}) {
        EXPECT_EQ(text(value, KeyFormat::plain), malformed) << value;
        EXPECT_EQ(text(value, KeyFormat::either), malformed) << value;
    }
    EXPECT_EQ(text(R"("a")", KeyFormat::plain), malformed);
}

TEST(KeyHeader, TheSameKeyInBothFormsIsOneKey) {
    EXPECT_EQ(text("a-1", KeyFormat::either), text("\"a-1\"", KeyFormat::either));
}

TEST(KeyHeader, TheAnswerEchoesWhatWasWritten) {
    EXPECT_EQ(read("\"a\";x").key->written, "\"a\";x");
}

TEST(KeyHeader, MissingRepeatedAndEmptyOnesAreFaults) {
    EXPECT_EQ(read_key({}, {}).fault, KeyFault::missing);
    EXPECT_EQ(read_key({{"Idempotency-Key", "a"}, {"idempotency-key", "a"}}, {}).fault,
              KeyFault::repeated);
    EXPECT_EQ(read("").fault, KeyFault::malformed);
    EXPECT_EQ(read("\"\"").fault, KeyFault::too_short);
}

TEST(KeyHeader, AnOptionalOneMayBeAbsentButNotWrong) {
    const KeyHeaderOptions options{.use = KeyUse::optional};
    const KeyReading absent = read_key({}, options);
    EXPECT_FALSE(absent.key);
    EXPECT_FALSE(absent.fault);
    EXPECT_EQ(read("a b", options).fault, KeyFault::malformed);
}

TEST(KeyHeader, AForbiddenOneMayNotBeThere) {
    const KeyHeaderOptions options{.use = KeyUse::forbidden};
    EXPECT_EQ(read("a", options).fault, KeyFault::not_expected);
    EXPECT_EQ(read_key({}, options).fault, std::nullopt);
}

TEST(KeyHeader, LengthsAreThoseOfTheKeyWithoutItsQuotes) {
    const KeyHeaderOptions options{.length_min = 2, .length_max = 3};
    EXPECT_EQ(read("a", options).fault, KeyFault::too_short);
    EXPECT_EQ(read("\"abc\"", options).key->text, "abc");
    EXPECT_EQ(read("abcd", options).fault, KeyFault::too_long);
}

TEST(KeyHeader, WithTheCharsetUuidNothingElseIsAKey) {
    const KeyHeaderOptions options{.uuid = true};
    EXPECT_TRUE(read("8e03978e-40d5-43dd-bc93-6894a57f9324", options).key);
    EXPECT_TRUE(read("\"8E03978E-40D5-43DD-BC93-6894A57F9324\"", options).key);
    for (const char* value :
         {"8e03978e40d543ddbc936894a57f9324", "1", "8e03978e-40d5-43dd-bc93-6894a57f932g",
          "8e03978e-40d5-43dd-bc936-894a57f9324"}) {
        EXPECT_EQ(read(value, options).fault, KeyFault::no_uuid) << value;
    }
}

// RFC 9562, 4: a UUID is compared without regard to case.
TEST(KeyHeader, AUuidInCapitalsIsTheSameKey) {
    const std::string capitals = "8E03978E-40D5-43DD-BC93-6894A57F9324";
    const KeyReading reading = read("\"" + capitals + "\"", KeyHeaderOptions{.uuid = true});
    ASSERT_TRUE(reading.key);
    EXPECT_EQ(reading.key->text, "8e03978e-40d5-43dd-bc93-6894a57f9324");
    EXPECT_EQ(reading.key->written, "\"" + capitals + "\"");
    EXPECT_EQ(read(capitals, KeyHeaderOptions{}).key->text, capitals);
    RouteOptions route;
    route.key.uuid = true;
    EXPECT_EQ(request_digest(route, "", capitals), request_digest(route, "", lower_case(capitals)));
    route.key.uuid = false;
    EXPECT_NE(request_digest(route, "", capitals), request_digest(route, "", lower_case(capitals)));
}

TEST(KeyHeader, ATextFromElsewhereHasTheSameLimits) {
    EXPECT_EQ(check_key_text(std::string_view("a\0b", 3), {}), KeyFault::malformed);
    EXPECT_EQ(check_key_text("evt_1 with blanks", {}), std::nullopt);
    EXPECT_EQ(check_key_text(std::string(256, 'a'), {}), KeyFault::too_long);
}

TEST(KeyHeader, WhatNoHeaderCanCarryIsNoKeyOfOne) {
    EXPECT_EQ(check_key_for_header("a \"b\", c", {}), std::nullopt);
    EXPECT_EQ(check_key_for_header("\xC3\xA4", {}), KeyFault::malformed);
    EXPECT_EQ(check_key_for_header("a b", {.format = KeyFormat::plain}), KeyFault::malformed);
    EXPECT_EQ(check_key_for_header("a-b", {.format = KeyFormat::plain}), std::nullopt);
    EXPECT_EQ(check_key_for_header(std::string(256, 'a'), {}), KeyFault::too_long);
}

TEST(KeyHeader, AFaultNamesWhereTheKeyIs) {
    const KeyHeaderOptions key;
    const KeyPlace item{KeyPlace::Kind::item}, field{KeyPlace::Kind::field, "/id"};
    EXPECT_EQ(describe(KeyFault::missing, key), "This operation needs the header Idempotency-Key.");
    EXPECT_EQ(describe(KeyFault::missing, key, item), "Each item needs a member `key`.");
    EXPECT_EQ(describe(KeyFault::missing, key, field), "The body has no key at /id.");
    EXPECT_EQ(describe(KeyFault::not_expected, key, item),
              "The keys are in the body: each item's `key`.");
    EXPECT_EQ(describe(KeyFault::not_expected, key, field), "The key is in the body, at /id.");
    EXPECT_EQ(describe(KeyFault::not_expected, {.use = KeyUse::forbidden}, item),
              "This operation takes no Idempotency-Key; nothing would be kept under it.");
    EXPECT_EQ(describe(KeyFault::no_uuid, key, item), "`key` must be a UUID.");
    EXPECT_EQ(describe(KeyFault::malformed, key, item), "`key` must be without U+0000.");
    EXPECT_EQ(describe(KeyFault::malformed, key, field),
              "The key at /id must be a text without U+0000, or a whole number.");
}

TEST(KeyHeader, AWrongLengthSaysBothEnds) {
    const KeyHeaderOptions key;
    EXPECT_EQ(describe(KeyFault::too_short, key), "Idempotency-Key must have 1 to 255 characters.");
    EXPECT_EQ(describe(KeyFault::too_long, key), describe(KeyFault::too_short, key));
    EXPECT_EQ(
        describe(KeyFault::too_long, {.length_min = 8, .length_max = 8}, {KeyPlace::Kind::item}),
        "`key` must have 8 bytes.");
}

}  // namespace
}  // namespace onceward
