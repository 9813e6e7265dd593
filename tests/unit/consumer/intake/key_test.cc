// Presets, validation and what makes two keys differ (F24).

#include "consumer/intake/key_options.h"
#include "tests/unit/consumer/records.h"

namespace onceward::test {
namespace {

using KeyKind = KeySource::Kind;
using Why = Rejection::Kind;

KeyOptions preset(const std::string& name) { return keys(key_preset(name).value()); }

// The digest of a message that must have a key.
Digest digest_in(Taking& taking, std::string_view payload, RecordHeaders headers = {}) {
    const Message& message = taking.take(payload, std::move(headers));
    EXPECT_FALSE(message.rejection.has_value()) << message.rejection->reason;
    return message.digest;
}

Digest digest_with(const KeyOptions& options, std::string_view payload,
                   RecordHeaders headers = {}) {
    Taking taking(options);
    return digest_in(taking, payload, std::move(headers));
}

std::optional<Why> why(const KeyOptions& options, std::string_view payload,
                       RecordHeaders headers = {}) {
    Taking taking(options);
    const Message& message = taking.take(payload, std::move(headers));
    return message.rejection ? std::optional(message.rejection->kind) : std::nullopt;
}

TEST(Key, DigestIsOfOperationTenantKindAndText) {
    KeyOptions options = header_key();
    EXPECT_EQ(digest_with(options, "{}", {{"key", "K"}}),
              digest_of({"group/orders", "", "header:key", "K"}));
    options.operation = "pay";
    options.tenant = FieldSource{FieldSource::Kind::field, "/tenant"};
    options.sources.front().kind_name = "id";
    EXPECT_EQ(digest_with(options, R"({"tenant":"acme"})", {{"key", "K"}}),
              digest_of({"pay", "acme", "id", "K"}));
}

TEST(Key, SameTextOfAnotherKindIsAnotherKey) {
    const Digest header = digest_with(header_key(), "{}", {{"key", "42"}});
    const KeyOptions other = keys({key_from(KeyKind::header, "other")});
    EXPECT_NE(header, digest_with(other, "{}", {{"other", "42"}}));
    const Digest field = digest_with(keys({key_from(KeyKind::field, "/id")}), R"({"id":"42"})");
    EXPECT_NE(header, field);
    Taking by_key(keys({key_from(KeyKind::record_key)}));
    Record record = record_of("{}");
    record.key = "42";
    const Digest record_key = by_key.take(std::move(record)).digest;
    EXPECT_NE(record_key, header);
    EXPECT_NE(record_key, field);
}

TEST(Key, OneKindNameMakesTwoSourcesShareTheirKeys) {
    KeySource header = key_from(KeyKind::header, "id");
    KeySource field = key_from(KeyKind::field, "/id");
    header.kind_name = field.kind_name = "order";
    const KeyOptions options = keys({header, field});
    EXPECT_EQ(digest_with(options, "{}", {{"id", "42"}}), digest_with(options, R"({"id":42})"));
}

TEST(Key, TheFirstSourceThatIsThereWins) {
    const KeyOptions options =
        keys({key_from(KeyKind::header, "a"), key_from(KeyKind::header, "b")});
    Taking taking(options);
    EXPECT_EQ(taking.take("{}", {{"b", "2"}, {"a", "1"}}).key_text, "1");
    EXPECT_EQ(taking.take("{}", {{"b", "2"}, {"a", std::nullopt}}).key_text, "2");
    EXPECT_EQ(taking.take("{}", {{"a", ""}, {"b", "2"}}).rejection->kind, Why::invalid_key);
}

TEST(Key, TheLastOfRepeatedHeadersCounts) {
    Taking taking(header_key());
    EXPECT_EQ(taking.take("{}", {{"key", "1"}, {"key", "2"}}).key_text, "2");
}

TEST(Key, NumbersAreKeysAsTheyAreWritten) {
    const KeyOptions options = keys({key_from(KeyKind::field, "/id")});
    Taking taking(options);
    EXPECT_EQ(taking.take(R"({"id":9007199254740993})").key_text, "9007199254740993");
    EXPECT_EQ(taking.take(R"({"id":9007199254740992})").key_text, "9007199254740992");
    EXPECT_EQ(taking.take(R"({"id":1.0})").key_text, "1.0");
    EXPECT_NE(digest_with(options, R"({"id":9007199254740993})"),
              digest_with(options, R"({"id":9007199254740992})"));
}

TEST(Key, BooleansObjectsAndListsAreNoKeysAndNullIsMissing) {
    const KeyOptions options = keys({key_from(KeyKind::field, "/id")});
    EXPECT_EQ(why(options, R"({"id":true})"), Why::invalid_key);
    EXPECT_EQ(why(options, R"({"id":{"a":1}})"), Why::invalid_key);
    EXPECT_EQ(why(options, R"({"id":[1]})"), Why::invalid_key);
    EXPECT_EQ(why(options, R"({"id":null})"), Why::missing_key);
    EXPECT_EQ(why(options, "{}"), Why::missing_key);
}

KeyOptions composed(std::vector<std::string> names) {
    KeySource source = key_from(KeyKind::fields);
    source.names = std::move(names);
    return keys({source});
}

TEST(ComposedKey, IsTheJsonArrayOfItsPartsTexts) {
    const KeyOptions options = composed({"/account", "/order"});
    Taking taking(options);
    EXPECT_EQ(taking.take(R"({"order":17,"account":"acme"})").key_text, R"(["acme","17"])");
    EXPECT_EQ(taking.take(R"({"order":"\u00e9\n\"","account":1.50})").key_text,
              R"(["1.50","é\n\""])");
    // What SQL writes: InboxTest has the same text.
    EXPECT_EQ(taking.take(R"({"account":"a\"b\\c\/d","order":"J\u00f6rg\u0001\n\u007f"})").key_text,
              "[\"a\\\"b\\\\c/d\",\"J\xc3\xb6rg\\u0001\\n\x7f\"]");
    EXPECT_EQ(
        digest_with(options, R"({"order":17,"account":"acme"})"),
        digest_of({"group/orders", "", R"(fields:["/account","/order"])", R"(["acme","17"])"}));
}

TEST(ComposedKey, PartsThatAreSplitOtherwiseAreOtherKeys) {
    const KeyOptions options = composed({"/a", "/b"});
    const auto digest = [&](const char* payload) { return digest_with(options, payload); };
    EXPECT_NE(digest(R"({"a":"x","b":"y,z"})"), digest(R"({"a":"x,y","b":"z"})"));
    EXPECT_NE(digest(R"({"a":"x\",\"y","b":"z"})"), digest(R"({"a":"x","b":"y\",\"z"})"));
    EXPECT_NE(digest(R"({"a":"x","b":"y"})"), digest(R"({"a":"y","b":"x"})"));
    EXPECT_NE(digest(R"({"a":"x","b":"y"})"),
              digest_with(composed({"/b", "/a"}), R"({"a":"y","b":"x"})"))
        << "the order of the paths is part of the key";
}

TEST(ComposedKey, IsMissingWithOneOfItsPartsAndInvalidWithABadOne) {
    const KeyOptions options = composed({"/a", "/b"});
    EXPECT_EQ(why(options, R"({"a":"x"})"), Why::missing_key);
    EXPECT_EQ(why(options, R"({"a":"x","b":null})"), Why::missing_key);
    EXPECT_EQ(why(options, R"({"a":"x","b":""})"), Why::invalid_key);
    EXPECT_EQ(why(options, R"({"a":"x","b":true})"), Why::invalid_key);
    EXPECT_EQ(why(options, R"({"a":"x","b":"y\u0000"})"), Why::invalid_key);
    KeyOptions with_header = options;
    with_header.sources.push_back(key_from(KeyKind::header, "key"));
    Taking taking(with_header);
    EXPECT_EQ(taking.take(R"({"a":"x"})", {{"key", "K"}}).key_text, "K");
    Taking named(options);
    const std::string reason = named.take("{}").rejection->reason;
    EXPECT_NE(reason.find("fields `/a`, `/b`"), std::string::npos) << reason;
}

TEST(ComposedKey, TheRulesForLengthAreForTheWhole) {
    KeyOptions options = composed({"/a", "/b"});
    options.length_max = 9;
    EXPECT_EQ(why(options, R"({"a":"x","b":"y"})"), std::nullopt);
    EXPECT_EQ(why(options, R"({"a":"x","b":"yyy"})"), Why::invalid_key);
}

TEST(Key, TheMissingKeysReasonNamesWhereItWasLookedFor) {
    Taking taking(keys({key_from(KeyKind::header, "key"), key_from(KeyKind::field, "/id")}));
    const std::string reason = taking.take("{}").rejection->reason;
    EXPECT_NE(reason.find("header `key`, field `/id`"), std::string::npos) << reason;
}

TEST(HostileKey, LengthIsLimitedInBytes) {
    const KeyOptions options = header_key();
    EXPECT_EQ(why(options, "{}", {{"key", ""}}), Why::invalid_key);
    EXPECT_EQ(why(options, "{}", {{"key", std::string_view(std::string(255, 'x'))}}), std::nullopt);
    const std::string long_key(256, 'x');
    EXPECT_EQ(why(options, "{}", {{"key", long_key}}), Why::invalid_key);
    const std::string huge(1'000'000, 'x');
    EXPECT_EQ(why(options, "{}", {{"key", huge}}), Why::invalid_key);
    std::string accents;
    for (int i = 0; i < 128; ++i) accents += "é";  // 128 characters, 256 bytes
    EXPECT_EQ(why(options, "{}", {{"key", accents}}), Why::invalid_key);
    KeyOptions longer = options;
    longer.length_min = 2;
    longer.length_max = 256;
    EXPECT_EQ(why(longer, "{}", {{"key", long_key}}), std::nullopt);
    EXPECT_EQ(why(longer, "{}", {{"key", "x"}}), Why::invalid_key);
}

TEST(HostileKey, ANulIsInvalidWhereverItComesFrom) {
    EXPECT_EQ(why(header_key(), "{}", {{"key", "a\0b"sv}}), Why::invalid_key);
    EXPECT_EQ(why(keys({key_from(KeyKind::field, "/id")}), R"({"id":"a\u0000b"})"),
              Why::invalid_key);
}

TEST(HostileKey, BytesThatAreNoUtf8AndControlCharactersAreKeysOfTheirOwn) {
    const KeyOptions options = header_key();
    const Digest bad = digest_with(options, "{}", {{"key", "a\xff"}});
    EXPECT_NE(bad, digest_with(options, "{}", {{"key", "a\xfe"}}));
    EXPECT_NE(digest_with(options, "{}", {{"key", "a\n"}}),
              digest_with(options, "{}", {{"key", "a"}}));
    KeyOptions printable = options;
    printable.charset = KeyOptions::Charset::ascii_printable;
    EXPECT_EQ(why(printable, "{}", {{"key", "a\xff"}}), Why::invalid_key);
    EXPECT_EQ(why(printable, "{}", {{"key", "a\n"}}), Why::invalid_key);
    EXPECT_EQ(why(printable, "{}", {{"key", "a ~"}}), std::nullopt);
}

TEST(HostileKey, ComposedAndDecomposedFormsAreTwoKeys) {
    EXPECT_NE(digest_with(header_key(), "{}", {{"key", "\xc3\xa9"}}),
              digest_with(header_key(), "{}", {{"key", "e\xcc\x81"}}));
}

TEST(HostileKey, PartsDoNotRunIntoEachOther) {
    const KeyOptions events = preset("cloudevents");
    EXPECT_NE(digest_with(events, "{}", {{"ce_source", "a|b"}, {"ce_id", "c"}}),
              digest_with(events, "{}", {{"ce_source", "a"}, {"ce_id", "b|c"}}));
    EXPECT_NE(digest_with(events, "{}", {{"ce_source", "a b"}, {"ce_id", "c"}}),
              digest_with(events, "{}", {{"ce_source", "a"}, {"ce_id", "b c"}}));
    KeyOptions options = header_key();
    options.tenant = FieldSource{FieldSource::Kind::header, "tenant"};
    EXPECT_NE(digest_with(options, "{}", {{"tenant", "a|b"}, {"key", "c"}}),
              digest_with(options, "{}", {{"tenant", "a"}, {"key", "b|c"}}));
}

TEST(KeyValidation, UuidFormIsChecked) {
    KeyOptions options = header_key();
    options.charset = KeyOptions::Charset::uuid;
    EXPECT_EQ(why(options, "{}", {{"key", "6BA7B810-9dad-11d1-80b4-00c04fd430c8"}}), std::nullopt);
    for (const std::string_view bad :
         {"6ba7b8109dad11d180b400c04fd430c8"sv, "6ba7b810-9dad-11d1-80b4-00c04fd430cg"sv,
          "6ba7b810-9dad-11d1-80b4x00c04fd430c8"sv}) {
        EXPECT_EQ(why(options, "{}", {{"key", bad}}), Why::invalid_key) << bad;
    }
}

// RFC 9562, 4: a UUID is compared without regard to case.
TEST(KeyValidation, AUuidInCapitalsIsTheSameKey) {
    KeyOptions options = header_key();
    const auto digest = [&](std::string_view key) {
        return digest_with(options, "{}", {{"key", key}});
    };
    constexpr std::string_view capitals = "6BA7B810-9DAD-11D1-80B4-00C04FD430C8";
    constexpr std::string_view small = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
    EXPECT_NE(digest(capitals), digest(small));
    options.charset = KeyOptions::Charset::uuid;
    EXPECT_EQ(digest(capitals), digest(small));
}

TEST(KeyValidation, ThePatternMustMatchWhole) {
    KeyOptions options = header_key();
    options.pattern = "[a-z]+-[0-9]+";
    EXPECT_EQ(why(options, "{}", {{"key", "order-12"}}), std::nullopt);
    EXPECT_EQ(why(options, "{}", {{"key", "xx order-12"}}), Why::invalid_key);
    options.pattern = "[a-z";
    EXPECT_THROW(Taking{options}, FormatError);
}

TEST(KeyValidation, APatternIsNotTriedOnAHugeKey) {
    KeyOptions options = header_key();
    options.pattern = "(x|y)*";
    options.length_max = 2'000'000;
    const std::string huge(1'000'000, 'x');  // std::regex would need more stack than there is
    EXPECT_EQ(why(options, "{}", {{"key", huge}}), Why::invalid_key);
}

TEST(KeyPolicy, DeriveTakesTheCoordinates) {
    KeyOptions options = header_key();
    options.on_missing = options.on_invalid = KeyPolicy::derive;
    Taking taking(options);
    const Message& missing = taking.take("{}");
    EXPECT_FALSE(missing.rejection.has_value());
    EXPECT_EQ(missing.key_text, "orders-3-42");
    EXPECT_EQ(missing.digest, digest_of({"group/orders", "", "coordinates", "orders-3-42"}));
    EXPECT_EQ(taking.take("{}", {{"key", "a\0"sv}}).key_text, "orders-3-42");
}

TEST(KeyPolicy, SkipCountsAndSaysWhy) {
    KeyOptions options = header_key();
    options.on_missing = KeyPolicy::skip;
    Taking taking(options);
    EXPECT_TRUE(taking.take("{}").skipped);
    EXPECT_EQ(taking.chunk.messages.back().skip_reason, "missing key");
    EXPECT_FALSE(taking.chunk.messages.back().rejection.has_value());
    EXPECT_EQ(taking.take("{}", {{"key", ""}}).rejection->kind, Why::invalid_key);
    EXPECT_EQ(taking.sink.encoded, 0);
}

TEST(Tenant, AbsentOrEmptyIsAMissingKey) {
    KeyOptions options = header_key();
    options.tenant = FieldSource{FieldSource::Kind::header, "tenant"};
    EXPECT_EQ(why(options, "{}", {{"key", "K"}}), Why::missing_key);
    EXPECT_EQ(why(options, "{}", {{"key", "K"}, {"tenant", ""}}), Why::missing_key);
    EXPECT_EQ(why(options, "{}", {{"key", "K"}, {"tenant", std::nullopt}}), Why::missing_key);
    options.tenant = FieldSource{FieldSource::Kind::field, "/t"};
    EXPECT_EQ(why(options, R"({"t":null})", {{"key", "K"}}), Why::missing_key);
    EXPECT_EQ(why(options, R"({"t":[]})", {{"key", "K"}}), Why::invalid_key);
    EXPECT_EQ(why(options, R"({"t":7})", {{"key", "K"}}), std::nullopt);
}

TEST(Tenant, SeparatesEqualKeys) {
    KeyOptions options = header_key();
    options.tenant = FieldSource{FieldSource::Kind::header, "tenant"};
    EXPECT_NE(digest_with(options, "{}", {{"key", "K"}, {"tenant", "a"}}),
              digest_with(options, "{}", {{"key", "K"}, {"tenant", "b"}}));
}

TEST(Coordinates, PreferTheTopicsId) {
    Taking taking(preset("kafka-coordinates"));
    EXPECT_EQ(taking.take("{}").key_text, "orders-3-42");
    taking.intake.set_topic_id("AbCd");
    EXPECT_EQ(taking.take("{}").key_text, "AbCd-3-42");
}

TEST(KeyPreset, EveryNameIsKnownAndOthersAreNot) {
    for (const std::string& name : key_preset_names()) {
        EXPECT_TRUE(key_preset(name).has_value()) << name;
    }
    EXPECT_EQ(key_preset_names().size(), 8U);
    EXPECT_FALSE(key_preset("idempotency_key").has_value());
}

TEST(KeyPreset, IdempotencyKeyStripsQuotesAndTakesBothSpellings) {
    const KeyOptions options = preset("idempotency-key");
    const Digest plain = digest_with(options, "{}", {{"Idempotency-Key", "a\"b\\c"}});
    EXPECT_EQ(plain, digest_with(options, "{}", {{"Idempotency-Key", R"("a\"b\\c")"}}));
    EXPECT_EQ(plain, digest_with(options, "{}", {{"idempotency-key", R"("a\"b\\c")"}}));
    EXPECT_EQ(plain, digest_of({"group/orders", "", "header:Idempotency-Key", "a\"b\\c"}));
    for (const std::string_view bad :
         {R"("open)"sv, R"(")"sv, R"("a"b")"sv, R"("a\b")"sv, R"("a\")"sv, "\"\xC3\xA4\""sv}) {
        EXPECT_EQ(why(options, "{}", {{"Idempotency-Key", bad}}), Why::invalid_key) << bad;
    }
    EXPECT_EQ(why(options, "{}", {{"Idempotency-Key", R"("")"}}), Why::invalid_key);
    EXPECT_EQ(why(options, "{}", {{"IDEMPOTENCY-KEY", "a"}}), Why::missing_key);
}

// As an HTTP route reads it (RFC 8941, 3.3), so that a service may change from one to the other.
TEST(KeyPreset, IdempotencyKeyIgnoresTheParametersOfAString) {
    const KeyOptions options = preset("idempotency-key");
    const Digest plain = digest_with(options, "{}", {{"Idempotency-Key", "a"}});
    EXPECT_EQ(plain, digest_with(options, "{}", {{"Idempotency-Key", R"("a";v=1)"}}));
    EXPECT_EQ(why(options, "{}", {{"Idempotency-Key", R"("a";=)"}}), Why::invalid_key);
}

TEST(KeyPreset, CloudEventsTakesHeadersOrTheStructuredForm) {
    const KeyOptions options = preset("cloudevents");
    const Digest binary = digest_with(options, "{}", {{"ce_source", "/shop"}, {"ce_id", "1"}});
    const std::string_view event = R"({"source":"/shop","id":"1","data":{}})";
    for (const std::string_view type :
         {"application/cloudevents+json"sv, "Application/CloudEvents+JSON; charset=utf-8"sv}) {
        EXPECT_EQ(binary, digest_with(options, event, {{"content-type", type}}));
    }
    EXPECT_EQ(why(options, event), Why::missing_key);
    for (const std::string_view type : {"application/json"sv, "application/cloudevents+jsonx"sv}) {
        EXPECT_EQ(why(options, event, {{"content-type", type}}), Why::missing_key);
    }
    EXPECT_EQ(why(options, "{}", {{"ce_source", "/shop"}}), Why::missing_key);
    EXPECT_EQ(why(options, "{}", {{"ce_source", ""}, {"ce_id", "1"}}), Why::invalid_key);
    Taking taking(options);
    EXPECT_EQ(taking.take("{}", {{"ce_source", "/shop"}, {"ce_id", "1"}}).key_text,
              cloudevents_key("/shop", "1"));
}

TEST(KeyPreset, MasstransitTakesTheHeaderElseTheEnvelope) {
    const KeyOptions options = preset("masstransit");
    EXPECT_EQ(digest_with(options, "{}", {{"MessageId", "m-1"}}),
              digest_with(options, R"({"messageId":"m-1","message":{}})"));
    FormatOptions raw;
    raw.format = Format::raw;
    Taking taking(options, raw);  // no JSON, so no envelope
    EXPECT_EQ(taking.take("x", {{"MessageId", "m-1"}}).key_text, "m-1");
    EXPECT_EQ(taking.take("x").rejection->kind, Why::missing_key);
}

TEST(KeyPreset, NservicebusAndDebeziumOutboxTakeTheirHeaders) {
    EXPECT_EQ(why(preset("nservicebus"), "{}", {{"NServiceBus.MessageId", "m"}}), std::nullopt);
    EXPECT_EQ(why(preset("nservicebus"), "{}", {{"MessageId", "m"}}), Why::missing_key);
    EXPECT_EQ(why(preset("debezium-outbox"), "{}", {{"id", "m"}}), std::nullopt);
    EXPECT_EQ(why(preset("debezium-outbox"), R"({"id":1})"), Why::missing_key);
}

TEST(KeyPreset, BodyHashTakesEqualPayloadsForOne) {
    const KeyOptions options = preset("body-sha256");
    EXPECT_EQ(digest_with(options, R"({"a":1})"), digest_with(options, R"({"a":1})"));
    EXPECT_NE(digest_with(options, R"({"a":1})"), digest_with(options, R"({"a": 1})"));
}

}  // namespace
}  // namespace onceward::test
