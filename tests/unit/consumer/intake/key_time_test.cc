// Where a key's time is read from, and what a message without it becomes.

#include "consumer/intake/key_options.h"
#include "tests/unit/consumer/records.h"

namespace onceward::test {
namespace {

using Why = Rejection::Kind;

std::optional<Why> refusal(const KeyOptions& options, std::string_view payload,
                           RecordHeaders headers) {
    Taking taking(options);
    const Message& message = taking.take(payload, std::move(headers));
    return message.rejection ? std::optional(message.rejection->kind) : std::nullopt;
}

KeyOptions with_time(KeyOptions options, MintedSource source) {
    options.minted_at = std::move(source);
    return options;
}

TEST(KeyTime, IsReadFromWhereTheTopicSays) {
    using Kind = MintedSource::Kind;
    const MintedAt second(std::chrono::seconds(1));
    Taking by_header(with_time(header_key(), {Kind::header, "made"}));
    EXPECT_EQ(by_header.take("{}", {{"key", "K"}, {"made", "1970-01-01T00:00:01Z"}}).minted_at,
              second);
    Taking by_field(with_time(header_key(), {Kind::field, "/made"}));
    EXPECT_EQ(by_field.take(R"({"made": 1000})", {{"key", "K"}}).minted_at, second);
    Taking by_event(with_time(keys(key_preset("cloudevents").value()), {Kind::ce_time}));
    EXPECT_EQ(by_event
                  .take("{}", {{"ce_source", "/shop"},
                               {"ce_id", "1"},
                               {"ce_time", "1970-01-01T00:00:01Z"}})
                  .minted_at,
              second);
    EXPECT_EQ(by_event
                  .take(R"({"source":"/s","id":"1","time":"1970-01-01T00:00:01Z"})",
                        {{"content-type", "application/cloudevents+json"}})
                  .minted_at,
              second);
    Taking by_key(with_time(header_key(), {Kind::uuid7}));
    EXPECT_EQ(by_key.take("{}", {{"key", "00000000-03e8-7000-8000-000000000000"}}).minted_at,
              second);
    Taking none(header_key());
    EXPECT_EQ(none.take("{}", {{"key", "00000000-03e8-7000-8000-000000000000"}}).minted_at,
              std::nullopt);
}

TEST(KeyTime, WithoutOneTheKeyIsInvalid) {
    using Kind = MintedSource::Kind;
    EXPECT_EQ(refusal(with_time(header_key(), {Kind::uuid7}), "{}", {{"key", "K"}}),
              Why::invalid_key);
    const KeyOptions by_header = with_time(header_key(), {Kind::header, "made"});
    EXPECT_EQ(refusal(by_header, "{}", {{"key", "K"}}), Why::invalid_key);
    EXPECT_EQ(refusal(by_header, "{}", {{"key", "K"}, {"made", "yesterday"}}), Why::invalid_key);
    EXPECT_EQ(refusal(with_time(header_key(), {Kind::field, "/made"}), "{}", {{"key", "K"}}),
              Why::invalid_key);
}

TEST(KeyTime, JoinsTheFingerprintAndLeavesTheDigest) {
    const KeyOptions options = with_time(header_key(), {MintedSource::Kind::header, "made"});
    Taking taking(options);
    const Message early = [&] {
        Message copy;
        const Message& taken = taking.take("{}", {{"key", "K"}, {"made", "1000"}});
        copy.digest = taken.digest;
        copy.fingerprint = taken.fingerprint;
        return copy;
    }();
    const Message& late = taking.take("{}", {{"key", "K"}, {"made", "2000"}});
    EXPECT_EQ(early.digest, late.digest);
    EXPECT_EQ(early.digest, Taking(header_key()).take("{}", {{"key", "K"}}).digest);
    ASSERT_TRUE(early.fingerprint && late.fingerprint);
    EXPECT_NE(*early.fingerprint, *late.fingerprint);
}

}  // namespace
}  // namespace onceward::test
