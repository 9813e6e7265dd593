#include "consumer/intake/message_builder.h"

#include "consumer/intake/canonical_json.h"
#include "tests/unit/consumer/records.h"

namespace onceward::test {
namespace {

using Kind = Value::Kind;
using From = FieldSource::Kind;

std::vector<FieldSource> every_source() {
    return {
        {From::field, "/amount"},   {From::header, "trace"},       {From::record_key, ""},
        {From::payload, ""},        {From::metadata, "topic"},     {From::metadata, "partition"},
        {From::metadata, "offset"}, {From::metadata, "timestamp"}, {From::constant, "fixed"}};
}

TEST(MessageBuilder, FillsTheSinksFieldsInTheirOrder) {
    Taking taking(header_key(), {}, every_source());
    Record record = record_of(R"({"amount":12.50})", {{"key", "K"}, {"trace", "t"}});
    record.key = "\xff";
    record.timestamp = std::chrono::milliseconds{1'700'000'000'123};
    const Message& message = taking.take(std::move(record));
    ASSERT_FALSE(message.rejection.has_value()) << message.rejection->reason;
    ASSERT_EQ(message.fields.size(), 9U);
    EXPECT_EQ(message.fields[0].kind, Kind::number);
    EXPECT_EQ(message.fields[0].text, "12.50");
    EXPECT_EQ(message.fields[1].kind, Kind::text);
    EXPECT_EQ(message.fields[1].text, "t");
    EXPECT_EQ(message.fields[2].kind, Kind::bytes);
    EXPECT_EQ(message.fields[2].text, "\xff");
    EXPECT_EQ(message.fields[3].text, R"({"amount":12.50})");
    EXPECT_EQ(message.fields[4].text, "orders");
    EXPECT_EQ(message.fields[5].integer, 3);
    EXPECT_EQ(message.fields[6].integer, 42);
    EXPECT_EQ(message.fields[7].kind, Kind::timestamp);
    EXPECT_EQ(message.fields[7].integer, 1'700'000'000'123'000);
    EXPECT_EQ(message.fields[8].text, "fixed");
    EXPECT_EQ(message.encoded, "encoded");
}

TEST(MessageBuilder, WhatIsNotThereIsAbsentOrNull) {
    Taking taking(header_key(), {}, every_source());
    const Message& message = taking.take("{}", {{"key", "K"}});
    ASSERT_EQ(message.fields.size(), 9U);
    EXPECT_EQ(message.fields[0].kind, Kind::absent);
    EXPECT_EQ(message.fields[1].kind, Kind::absent);
    EXPECT_EQ(message.fields[2].kind, Kind::null);
    EXPECT_EQ(message.fields[7].kind, Kind::null);
    const Message& null_header = taking.take("{}", {{"key", "K"}, {"trace", std::nullopt}});
    EXPECT_EQ(null_header.fields[1].kind, Kind::null);
}

const std::vector<FieldSource> key_sources = {
    {From::key, "text"}, {From::key, "digest"}, {From::key, "downstream"}};

TEST(MessageBuilder, TheSinkGetsTheKeysTextItsDigestAndTheDownstreamKey) {
    Taking taking(header_key(), {}, key_sources);
    const Message& message = taking.take("{}", {{"key", "K"}});
    const Digest digest = digest_of({"group/orders", "", "header:key", "K"});
    ASSERT_EQ(message.fields.size(), 3U);
    EXPECT_EQ(message.fields[0].text, "K");
    EXPECT_EQ(message.fields[1].text, uuid_text(digest));
    EXPECT_EQ(message.fields[2].text, downstream_key(digest));
}

TEST(MessageBuilder, AKeyThatIsKnownIsNotExtractedAndReachesTheSink) {
    Taking taking(header_key(), {}, key_sources);
    const MessageKey known{digest_of_bytes("d"), digest_of_bytes("f"), "k"};
    take_now(taking.intake, record_of("{}", {{"key", "K"}}), known, taking.chunk);
    const Message& message = taking.chunk.messages.back();
    EXPECT_EQ(message.digest, known.digest);
    EXPECT_EQ(message.fingerprint, known.fingerprint);
    EXPECT_EQ(message.fields[0].text, "k");
    EXPECT_EQ(message.fields[1].text, uuid_text(known.digest));
    // A request without a key has a random digest, which says nothing.
    take_now(taking.intake, record_of("{}"), MessageKey{digest_of_bytes("d")}, taking.chunk);
    for (const Value& value : taking.chunk.messages.back().fields) {
        EXPECT_EQ(value.kind, Kind::absent);
    }
}

TEST(MessageBuilder, ADeferredMessagesKeyReachesTheSinkTooWhenItIsFinished) {
    Taking taking(header_key(), {}, key_sources);
    taking.intake.expect_duplicates(true);
    taking.take("{}", {{"key", "K"}});
    Message& message = taking.chunk.messages.back();
    ASSERT_TRUE(message.deferred);
    taking.intake.finish(message, *taking.chunk.arena);
    ASSERT_EQ(message.fields.size(), 3U);
    EXPECT_EQ(message.fields[0].text, "K");
}

TEST(MessageBuilder, KeyTenantAndSinkShareOneWalk) {
    KeyOptions options = keys({key_from(KeySource::Kind::field, "/id")});
    options.tenant = FieldSource{From::field, "/tenant"};
    Taking taking(options, {}, {{From::field, "/amount"}, {From::field, "/id"}});
    const Message& message = taking.take(R"({"amount":5,"tenant":"acme","id":"o-1"})");
    ASSERT_EQ(message.fields.size(), 2U);
    EXPECT_EQ(message.fields[0].text, "5");
    EXPECT_EQ(message.fields[1].text, "o-1");
    EXPECT_EQ(message.digest, digest_of({"group/orders", "acme", "field:/id", "o-1"}));
}

// The values of earlier messages outlive the decoder's buffers: the chunk alone owns them.
TEST(MessageBuilder, EarlierMessagesKeepTheirValues) {
    Taking taking(keys({key_from(KeySource::Kind::field, "/id")}), {}, {{From::field, "/text"}});
    std::vector<std::string> payloads;
    for (int i = 0; i < 100; ++i) {
        const std::string number = std::to_string(i);
        payloads.push_back(R"({"id":)" + number + R"(,"text":"\u0061-)" + number + "\"}");
    }
    for (const std::string& payload : payloads) {
        taking.take(payload);
    }
    for (std::size_t i = 0; i < payloads.size(); ++i) {
        EXPECT_EQ(taking.chunk.messages[i].key_text, std::to_string(i));
        EXPECT_EQ(taking.chunk.messages[i].fields[0].text, "a-" + std::to_string(i));
    }
}

TEST(MessageBuilder, CountsTheChunksBytes) {
    Taking taking(header_key());
    Record record = record_of("{}", {{"key", "K"}, {"none", std::nullopt}});
    record.key = "123";
    taking.take(std::move(record));
    EXPECT_EQ(taking.chunk.bytes, 2U + 4U + 4U + 3U);
    taking.take("not json");
    EXPECT_EQ(taking.chunk.bytes, 13U + 8U);
}

TEST(MessageBuilder, AnUndecodablePayloadIsRejectedAndKeepsItsHeadersKey) {
    Taking taking(header_key(), {}, {{From::field, "/a"}});
    const Message& message = taking.take("{", {{"key", "K"}});
    ASSERT_TRUE(message.rejection.has_value());
    EXPECT_EQ(message.rejection->kind, Rejection::Kind::undecodable);
    EXPECT_EQ(message.key_text, "K");
    EXPECT_EQ(taking.sink.encoded, 0);
    EXPECT_EQ(message.record.payload, "{");
}

TEST(MessageBuilder, AnInvalidKeyKeepsItsText) {
    Taking taking(header_key());
    const Message& message = taking.take("{}", {{"key", "a\0b"sv}});
    EXPECT_EQ(message.rejection->kind, Rejection::Kind::invalid_key);
    EXPECT_EQ(message.key_text, "a\0b"sv);
}

TEST(MessageBuilder, TheSinksRefusalIsTheMessagesRejection) {
    Taking taking(header_key());
    taking.sink.refuse = true;
    const Message& message = taking.take("{}", {{"key", "K"}});
    ASSERT_TRUE(message.rejection.has_value());
    EXPECT_EQ(message.rejection->kind, Rejection::Kind::unmappable);
    EXPECT_EQ(message.digest, digest_of({"group/orders", "", "header:key", "K"}));
}

TEST(MessageBuilder, FingerprintsOnlyWhereTheTopicAsks) {
    KeyOptions options = header_key();
    Taking without(options);
    EXPECT_FALSE(without.take("{}", {{"key", "K"}}).fingerprint.has_value());
    options.fingerprint.of = FingerprintOptions::Of::payload;
    Taking with(options);
    EXPECT_EQ(with.take(R"({"a":1})", {{"key", "K"}}).fingerprint, digest_of_bytes(R"({"a":1})"));
}

KeyOptions with_fields(std::vector<std::string> fields) {
    KeyOptions options = header_key();
    options.fingerprint = {FingerprintOptions::Of::fields, std::move(fields)};
    return options;
}

TEST(MessageBuilder, AFingerprintOfFieldsIsThatOfTheirCanonicalForm) {
    Taking taking(with_fields({"/lines", "/amount", "/note"}), {}, {{From::field, "/amount"}});
    const std::string form = R"({"/amount":10,"/lines":[{"a":1,"b":2}]})";
    for (const char* payload : {R"({"id":1,"amount":10,"lines":[{"a":1,"b":2}]})",
                                R"({"lines":[ {"b":2.0,"a":1} ],"amount":1.0e1,"id":2})"}) {
        EXPECT_EQ(taking.take(payload, {{"key", "K"}}).fingerprint, digest_of_bytes(form));
    }
    EXPECT_EQ(taking.take(R"({"amount":10,"lines":[{"a":1,"b":2}],"note":null})", {{"key", "K"}})
                  .fingerprint,
              digest_of_bytes(R"({"/amount":10,"/lines":[{"a":1,"b":2}],"/note":null})"));
    EXPECT_EQ(taking.take(R"({"amount":"10"})", {{"key", "K"}}).fingerprint,
              digest_of_bytes(R"({"/amount":"10"})"));
    EXPECT_EQ(taking.sink.encoded, 4);
}

// What removes the row is no repeat of what wrote it.
TEST(MessageBuilder, AFingerprintOfFieldsTellsARemoval) {
    FormatOptions format;
    format.tombstones = TombstonePolicy::remove;
    Taking taking(with_fields({"/a"}), format);
    EXPECT_EQ(taking.take(std::nullopt, {{"key", "K"}}).fingerprint, digest_of_bytes("-{}"));
    format.envelope = Envelope::debezium;
    Taking changes(with_fields({"/a"}), format);
    EXPECT_EQ(changes.take(R"({"op":"c","after":{"a":1}})", {{"key", "K"}}).fingerprint,
              digest_of_bytes(R"({"/a":1})"));
    EXPECT_EQ(changes.take(R"({"op":"d","before":{"a":1}})", {{"key", "K"}}).fingerprint,
              digest_of_bytes(R"(-{"/a":1})"));
}

TEST(MessageBuilder, AFieldWithoutACanonicalFormRejectsItsMessage) {
    Taking taking(with_fields({"/a"}));
    for (const char* payload : {R"({"a":{"b":1,"b":2}})", R"({"a":1e999})"}) {
        const Message& message = taking.take(payload, {{"key", "K"}});
        ASSERT_TRUE(message.rejection.has_value()) << payload;
        EXPECT_EQ(message.rejection->kind, Rejection::Kind::undecodable);
        EXPECT_NE(message.rejection->reason.find("`/a`"), std::string::npos);
        EXPECT_EQ(message.key_text, "K");
    }
    EXPECT_EQ(taking.sink.encoded, 0);
}

TEST(MessageBuilder, AFingerprintOfFieldsIsReadWhateverIsExpected) {
    Taking taking(with_fields({"/a"}));
    taking.intake.expect_duplicates(true);
    const Message& message = taking.take(R"({"a":1})", {{"key", "K"}});
    EXPECT_FALSE(message.deferred);
    EXPECT_EQ(message.fingerprint, digest_of_bytes(R"({"/a":1})"));
}

TEST(MessageBuilder, ValuesOfProtobufHaveAFormToo) {
    const FieldsFingerprint form({{"c", 0}, {"b", 1}, {"a", 2}, {"a", 2}, {"d", 3}, {"e", 4}});
    std::vector<Value> values(5);
    values[0].kind = Kind::integer;
    values[0].integer = -9'007'199'254'740'993;
    values[1].kind = Kind::natural;
    values[1].natural = 7;
    values[2].kind = Kind::bytes;
    values[2].text = "\x01\xff"sv;
    values[3].kind = Kind::real;
    values[3].real = 0.5;
    values[4].kind = Kind::boolean;
    values[4].boolean = true;
    std::string text;
    EXPECT_EQ(form.text(Operation::upsert, values, text), std::nullopt);
    EXPECT_EQ(text, R"({"a":"01ff","b":7,"c":"-9007199254740993","d":0.5,"e":true})");
}

TEST(MessageBuilder, WithKeysDisabledNothingIsDigested) {
    Taking taking(header_key(), {}, {{From::field, "/a"}});
    taking.intake.disable_keys();
    const Message& message = taking.take(R"({"a":1})");
    EXPECT_FALSE(message.rejection.has_value());
    EXPECT_EQ(message.digest, Digest{});
    EXPECT_EQ(message.fields[0].text, "1");
    EXPECT_EQ(message.encoded, "encoded");
}

TEST(MessageBuilder, UnknownMetadataIsASetUpError) {
    EXPECT_THROW(Taking(header_key(), {}, {{From::metadata, "ofset"}}), FormatError);
    EXPECT_THROW(Taking(header_key(), {}, {{From::key, "digests"}}), FormatError);
    KeyOptions of_itself = header_key();
    of_itself.tenant = FieldSource{From::key, "text"};
    EXPECT_THROW(Taking{of_itself}, FormatError);
}

TEST(Tombstone, RejectIsTheDefault) {
    Taking taking(header_key());
    const Message& message = taking.take(std::nullopt, {{"key", "K"}});
    ASSERT_TRUE(message.rejection.has_value());
    EXPECT_EQ(message.rejection->kind, Rejection::Kind::tombstone);
    EXPECT_EQ(message.key_text, "K");
}

TEST(Tombstone, SkipIsCountedWithAReason) {
    FormatOptions format;
    format.tombstones = TombstonePolicy::skip;
    Taking taking(header_key(), format);
    const Message& message = taking.take(std::nullopt);
    EXPECT_TRUE(message.skipped);
    EXPECT_EQ(message.skip_reason, "tombstone");
    EXPECT_FALSE(message.rejection.has_value());
}

TEST(Tombstone, RemoveAsksForARemovalWithoutThePayloadsFields) {
    FormatOptions format;
    format.tombstones = TombstonePolicy::remove;
    Taking taking(header_key(), format,
                  {{From::record_key, ""}, {From::field, "/a"}, {From::payload, ""}});
    taking.take(R"({"a":1})", {{"key", "K"}});
    Record record = record_of(std::nullopt, {{"key", "L"}});
    record.key = "row";
    const Message& message = taking.take(std::move(record));
    ASSERT_FALSE(message.rejection.has_value());
    EXPECT_EQ(message.operation, Operation::remove);
    EXPECT_EQ(message.fields[0].text, "row");
    EXPECT_EQ(message.fields[1].kind, Kind::absent);
    EXPECT_EQ(message.fields[2].kind, Kind::null);
    EXPECT_EQ(message.digest, digest_of({"group/orders", "", "header:key", "L"}));
}

TEST(Tombstone, AKeyInThePayloadIsMissing) {
    FormatOptions format;
    format.tombstones = TombstonePolicy::remove;
    Taking taking(keys({key_from(KeySource::Kind::field, "/id")}), format);
    taking.take(R"({"id":"stale"})");
    EXPECT_EQ(taking.take(std::nullopt).rejection->kind, Rejection::Kind::missing_key);
}

TEST(MessageBuilder, WhereDuplicatesAreExpectedThePayloadIsReadOnlyOnceItIsAskedFor) {
    KeyOptions key = header_key();
    key.fingerprint.of = FingerprintOptions::Of::payload;
    Taking eager(key, {}, {{From::field, "/amount"}});
    Taking taking(key, {}, {{From::field, "/amount"}});
    const Digest digest = eager.take(R"({"amount":5})", {{"key", "K"}}).digest;
    taking.intake.expect_duplicates(true);
    taking.take(R"({"amount":5})", {{"key", "K"}});
    Message& message = taking.chunk.messages.back();
    EXPECT_TRUE(message.deferred);
    EXPECT_EQ(message.digest, digest);
    EXPECT_EQ(message.fingerprint, eager.chunk.messages.back().fingerprint);
    EXPECT_EQ(message.key_text, "K");
    EXPECT_EQ(taking.sink.encoded, 0);
    eager.intake.finish(message, *taking.chunk.arena);
    EXPECT_FALSE(message.deferred);
    EXPECT_EQ(message.fields[0].text, "5");
    EXPECT_EQ(message.encoded, "encoded");

    taking.take("{", {{"key", "K"}});
    Message& broken = taking.chunk.messages.back();
    EXPECT_FALSE(broken.rejection.has_value());
    eager.intake.finish(broken, *taking.chunk.arena);
    ASSERT_TRUE(broken.rejection.has_value());
    EXPECT_EQ(broken.rejection->kind, Rejection::Kind::undecodable);
}

TEST(MessageBuilder, ATombstoneAndAKeyInThePayloadAreReadAtOnceWhateverIsExpected) {
    Taking by_header(header_key(), {}, {{From::field, "/amount"}});
    by_header.intake.expect_duplicates(true);
    const Message& tombstone = by_header.take(std::nullopt, {{"key", "K"}});
    EXPECT_FALSE(tombstone.deferred);
    EXPECT_EQ(tombstone.rejection->kind, Rejection::Kind::tombstone);
    Taking by_field(keys({key_from(KeySource::Kind::field, "/id")}), {}, {{From::field, "/id"}});
    by_field.intake.expect_duplicates(true);
    EXPECT_FALSE(by_field.take(R"({"id":"o-1"})").deferred);
    EXPECT_EQ(by_field.sink.encoded, 1);
}

// A source whose answer the test sets.
struct GivenSchemas final : SchemaSource {
    SchemaAnswer find(const SchemaId&) override { return answer; }
    SchemaAnswer answer{.state = SchemaAnswer::State::pending, .reason = "it answers 503"};
};

constexpr std::string_view framed{"\0\0\0\0\x11{\"amount\":5}", 17};

class AwaitedSchemas : public testing::Test {
  protected:
    const std::shared_ptr<GivenSchemas> schemas = std::make_shared<GivenSchemas>();
    FieldSink sink{{{From::field, "/amount"}}};
    MessageBuilder intake{{"group", "orders", FormatOptions{}, header_key(), schemas}, sink};
    Chunk chunk;
    std::optional<AwaitedSchema> take() {
        return intake.take(record_of(framed, {{"key", "K"}}), chunk);
    }
};

TEST_F(AwaitedSchemas, ARecordWhoseSchemaIsNotKnownYetLeavesNothingInTheChunk) {
    const std::optional<AwaitedSchema> awaited = take();
    ASSERT_TRUE(awaited.has_value());
    EXPECT_EQ(awaited->id.number, 17);
    EXPECT_EQ(awaited->reason, "schema 17 is not known yet: it answers 503");
    EXPECT_TRUE(chunk.messages.empty());
    EXPECT_EQ(chunk.bytes, 0U);

    schemas->answer = {.state = SchemaAnswer::State::known,
                       .schema = std::make_shared<WrittenSchema>(
                           WrittenSchema{SchemaLanguage::json, "{}", {}})};
    EXPECT_FALSE(take().has_value());
    ASSERT_EQ(chunk.messages.size(), 1U);
    EXPECT_EQ(chunk.messages[0].fields[0].text, "5");
}

TEST_F(AwaitedSchemas, NothingIsDeferredSinceTheWriterCannotWait) {
    intake.expect_duplicates(true);
    EXPECT_TRUE(take().has_value());
    schemas->answer = {.state = SchemaAnswer::State::unknown, .reason = "has no such schema"};
    EXPECT_FALSE(take().has_value());
    ASSERT_EQ(chunk.messages.size(), 1U);
    EXPECT_FALSE(chunk.messages[0].deferred);
    ASSERT_TRUE(chunk.messages[0].rejection.has_value());
    EXPECT_EQ(chunk.messages[0].rejection->kind, Rejection::Kind::unknown_schema);
    EXPECT_EQ(chunk.messages[0].key_text, "K");
}

TEST_F(AwaitedSchemas, ACommandThatMayNotLeaveARecordOutSaysWhichSchemaIsMissing) {
    try {
        take_now(intake, record_of(framed, {{"key", "K"}}), chunk);
        FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(),
                     "the message in partition 3 at offset 42 cannot be read: schema 17 is not "
                     "known yet: it answers 503");
    }
}

}  // namespace
}  // namespace onceward::test
