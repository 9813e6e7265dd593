// Where the time of a key is read from, and what it does to the fingerprint.

#include "dedup/message/minted.h"

#include <gtest/gtest.h>

#include "dedup/message/message.h"

namespace onceward::test {
namespace {

using namespace std::chrono_literals;

MintedAt at(std::chrono::microseconds since_1970) { return MintedAt(since_1970); }

Value number(std::string_view text) {
    Value value;
    value.kind = Value::Kind::number;
    value.text = text;
    return value;
}

TEST(Minted, AUuidOfVersionSevenHasItsMilliseconds) {
    // RFC 9562, A.6.
    const auto time = minted_from_uuid7("017F22E2-79B0-7CC3-98C4-DC0C0C07398F");
    EXPECT_EQ(time, at(1'645'557'742'000ms));
}

TEST(Minted, ANewUuidOfVersionSevenIsOfNow) {
    const auto now = [] { return MintedAt(since_1970<std::chrono::milliseconds>()); };
    const MintedAt before = now();
    const std::string key = new_uuid7();
    const auto time = minted_from_uuid7(key);
    ASSERT_TRUE(time) << key;
    EXPECT_LE(before, *time);
    EXPECT_LE(*time, now());
    EXPECT_NE(new_uuid7(), key);
}

TEST(Minted, OtherTextsAreNoUuidOfVersionSeven) {
    for (const char* text :
         {"", "order-1", "017f22e2-79b0-4cc3-98c4-dc0c0c07398f",
          "017f22e2-79b0-7cc3-18c4-dc0c0c07398f", "017f22e279b07cc398c4dc0c0c07398f"}) {
        EXPECT_EQ(minted_from_uuid7(text), std::nullopt) << text;
    }
}

TEST(Minted, ATextIsRfc3339WithAZoneOrMilliseconds) {
    EXPECT_EQ(minted_from_text("1970-01-01T00:00:01.5Z"), at(1'500ms));
    EXPECT_EQ(minted_from_text("1970-01-01T01:00:01.000001+01:00"), at(1'000'001us));
    EXPECT_EQ(minted_from_text("1500"), at(1'500ms));
    for (const char* text : {"", "now", "1970-01-01T00:00:01", "-5", "1500.5", "1e3",
                             "253402300800000", "99999999999999999999"}) {
        EXPECT_EQ(minted_from_text(text), std::nullopt) << text;
    }
}

TEST(Minted, AFieldIsReadAsATextOrATimestamp) {
    EXPECT_EQ(minted_from(number("1500")), at(1'500ms));
    EXPECT_EQ(minted_from(number("1.5")), std::nullopt);
    Value timestamp;
    timestamp.kind = Value::Kind::timestamp;
    timestamp.integer = 7;
    EXPECT_EQ(minted_from(timestamp), at(7us));
    Value natural;
    natural.kind = Value::Kind::natural;
    natural.natural = ~std::uint64_t{0};
    EXPECT_EQ(minted_from(natural), std::nullopt);
    EXPECT_EQ(minted_from(Value{}), std::nullopt);
}

TEST(Minted, AnotherTimeIsAnotherFingerprint) {
    const Digest content = digest_of_bytes("content");
    EXPECT_EQ(stamped(content, at(1us)), stamped(content, at(1us)));
    EXPECT_NE(stamped(content, at(1us)), stamped(content, at(2us)));
    EXPECT_NE(stamped(content, at(1us)), stamped(std::nullopt, at(1us)));
}

TEST(Minted, ARedriveCountsAsMintingTheKeyAgain) {
    Message message;
    message.minted_at = at(5s);
    message.record.timestamp = 9s;
    EXPECT_EQ(judged_at(message), at(5s)) << "a record's own time is not trusted";
    message.record.headers.push_back({redriven_header, "1"});
    EXPECT_EQ(judged_at(message), at(9s));
    message.record.timestamp = 3s;
    EXPECT_EQ(judged_at(message), at(5s));
    message.minted_at.reset();
    EXPECT_EQ(judged_at(message), std::nullopt);
}

}  // namespace
}  // namespace onceward::test
