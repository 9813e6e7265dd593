#include "consumer/decode/registry_decoder.h"

#include "tests/unit/consumer/decode/schemas.h"

namespace onceward::test {
namespace {

using Kind = Value::Kind;
using State = SchemaAnswer::State;

constexpr const char* id_then_name =
    R"({"type":"record","name":"A","fields":[{"name":"id","type":"long"},
        {"name":"name","type":"string"}]})";
constexpr const char* name_then_id =
    R"({"type":"record","name":"A","fields":[{"name":"name","type":"string"},
        {"name":"id","type":"long"}]})";
constexpr const char* state_enum =
    R"({"type":"record","name":"A","fields":[{"name":"state","type":
        {"type":"enum","name":"E","symbols":["OPEN","SHUT"]}}]})";

WrittenSchema json_schema(std::string text) {
    return {.language = SchemaLanguage::json, .text = std::move(text), .references = {}};
}

TEST(RegistryDecoder, FieldsAreFoundByNameWhateverOrderEachWriterHas) {
    RegistryDecoding decoding(by_registry(Format::avro), {"/id", "/name", "/note"});
    decoding.schemas->avro(1, id_then_name);
    decoding.schemas->avro(2, name_then_id);
    for (const std::string& payload :
         {framed(1, "\x0e\x02x"sv), framed(2, "\x02x\x0e"sv), framed(1, "\x0e\x02x"sv)}) {
        EXPECT_FALSE(decoding.decode(payload).rejection) << decoding.reason();
        EXPECT_EQ(decoding[0].integer, 7);
        EXPECT_EQ(decoding[1].text, "x");
        EXPECT_EQ(decoding[2].kind, Kind::absent);
    }
    EXPECT_EQ(decoding.schemas->asked.size(), 2U) << "a schema in use is not asked for again";
}

TEST(RegistryDecoder, AMessageAwaitsASchemaThatIsPendingAndIsReadOnceItIsKnown) {
    RegistryDecoding decoding(by_registry(Format::avro), {"/id"});
    decoding.schemas->answer(1, State::pending, "the registry does not answer");
    for (int i = 0; i < 2; ++i) {
        const Decoded& decoded = decoding.decode(framed(1, "\x0e\x02x"sv));
        EXPECT_FALSE(decoded.rejection);
        ASSERT_TRUE(decoded.awaits_schema);
        EXPECT_EQ(*decoded.awaits_schema,
                  "schema 1 is not known yet: the registry does not answer");
    }
    decoding.schemas->avro(1, id_then_name);
    EXPECT_FALSE(decoding.decode(framed(1, "\x0e\x02x"sv)).awaits_schema);
    EXPECT_FALSE(decoding.decode(framed(1, "\x0e\x02x"sv)).rejection);
    EXPECT_EQ(decoding[0].integer, 7);
    EXPECT_EQ(decoding.schemas->asked.size(), 3U);
}

TEST(RegistryDecoder, AnUnknownSchemaIsARejectionOfItsOwnClass) {
    RegistryDecoding decoding(by_registry(Format::avro), {"/id"});
    decoding.schemas->answer(9, State::unknown, "");
    EXPECT_FALSE(decoding.decode(framed(9, "x")).awaits_schema);
    EXPECT_EQ(decoding.kind(), Rejection::Kind::unknown_schema);
    EXPECT_EQ(decoding.reason(), "the registry has no schema 9");
    EXPECT_EQ(to_text(decoding.kind()), "unknown_schema");
}

TEST(RegistryDecoder, ARefusedOrUnusableSchemaMakesItsMessagesUndecodable) {
    RegistryDecoding decoding(by_registry(Format::avro), {"/id"});
    decoding.schemas->answer(1, State::refused, "it is larger than a megabyte");
    decoding.schemas->avro(2, R"({"type":"record","name":"A","fields":[{"name":"b","type":"B"}]})");
    decoding.schemas->know(3, json_schema("{}"));
    const auto reason = [&](std::uint8_t id) {
        decoding.decode(framed(id, "x"));
        EXPECT_EQ(decoding.kind(), Rejection::Kind::undecodable);
        return decoding.reason();
    };
    EXPECT_EQ(reason(1), "schema 1 cannot be used: it is larger than a megabyte");
    EXPECT_TRUE(reason(2).starts_with("schema 2 cannot be used: the type `B` is not defined"));
    EXPECT_EQ(reason(3), "schema 3 is a schema of JSON, and the topic's format is Avro");
    const std::size_t asked = decoding.schemas->asked.size();
    reason(2);
    EXPECT_EQ(decoding.schemas->asked.size(), asked) << "it is not compiled for each message";
}

TEST(RegistryDecoder, ABadPayloadNamesItsSchema) {
    RegistryDecoding decoding(by_registry(Format::avro), {"/id"});
    decoding.schemas->avro(1, id_then_name);
    decoding.decode(framed(1, "\x0e\x04x"sv));
    EXPECT_EQ(decoding.reason(),
              "the payload is not the Avro that its schema describes: it ends too early, in "
              "`/name` (schema 1)");
}

TEST(RegistryDecoder, ARecordWithoutAFrameIsUndecodable) {
    RegistryDecoding decoding(by_registry(Format::avro), {"/id"});
    decoding.decode("\x0e\x02x");
    EXPECT_EQ(decoding.kind(), Rejection::Kind::undecodable);
    EXPECT_TRUE(decoding.schemas->asked.empty());
}

TEST(RegistryDecoder, TheHeadersGuidNamesTheSchemaInThirtySixLowerCaseCharacters) {
    RegistryDecoding decoding(by_registry(Format::avro), {"/id"});
    const std::string header = "\1\xAB\xcd\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xAB";
    decoding.decode("\x0e\x02x", {{"__value_schema_id", header}});
    EXPECT_EQ(decoding.schemas->asked.at(0),
              (SchemaId{.number = 0, .guid = "abcd0123-4567-89ab-cdef-0123456789ab"}));
    decoding.schemas->answers[decoding.schemas->asked.at(0)] = {
        .state = State::known,
        .schema =
            std::make_shared<WrittenSchema>(WrittenSchema{SchemaLanguage::avro, id_then_name, {}})};
    EXPECT_FALSE(decoding.decode("\x0e\x02x", {{"__value_schema_id", header}}).rejection);
    EXPECT_EQ(decoding[0].integer, 7);
}

TEST(RegistryDecoder, ASchemaIdIsFourBytesTheHighestFirst) {
    RegistryDecoding decoding(by_registry(Format::avro), {"/id"});
    decoding.decode(std::string("\0\x12\x34\x56\x78", 5));
    EXPECT_EQ(decoding.schemas->asked.at(0).number, 0x12345678);
}

TEST(RegistryDecoder, OnlyTheLastUsedSchemasAreKept) {
    RegistryDecoding decoding(by_registry(Format::avro), {"/id"}, 2);
    for (std::uint8_t id = 1; id <= 3; ++id) decoding.schemas->avro(id, id_then_name);
    const auto asked_for = [&](std::uint8_t id) {
        decoding.schemas->asked.clear();
        EXPECT_FALSE(decoding.decode(framed(id, "\x0e\x02x"sv)).rejection);
        return !decoding.schemas->asked.empty();
    };
    EXPECT_TRUE(asked_for(1));
    EXPECT_TRUE(asked_for(2));
    EXPECT_FALSE(asked_for(1));
    EXPECT_TRUE(asked_for(3)) << "2 makes room, which was used before 1";
    EXPECT_FALSE(asked_for(1));
    EXPECT_TRUE(asked_for(2));
}

// A symbol is a text of the schema, and the chunk with the message lives longer than it.
TEST(RegistryDecoder, AValueOutlivesItsSchema) {
    const std::shared_ptr<FakeSchemas> schemas = std::make_shared<FakeSchemas>();
    schemas->avro(1, state_enum);
    alignas(16) std::array<char, 4096> memory{};
    std::pmr::monotonic_buffer_resource arena(memory.data(), memory.size());
    std::array<Value, 1> values;
    const auto decoder = make_registry_decoder(by_registry(Format::avro), {"/state"}, schemas);
    const std::string payload = framed(1, "\x02");
    EXPECT_FALSE(decoder->decode(record_of(payload), values, arena).rejection);
    EXPECT_EQ(values[0].text, "SHUT");
    EXPECT_GE(values[0].text.data(), memory.data());
    EXPECT_LT(values[0].text.data(), memory.data() + memory.size());
}

TEST(RegistryDecoder, APayloadOfJsonSchemaIsReadAsJson) {
    RegistryDecoding decoding(by_registry(Format::json), {"/id"});
    decoding.schemas->know(1, json_schema(R"({"type":"object"})"));
    EXPECT_FALSE(decoding.decode(framed(1, R"({"id": 12.50})")).rejection);
    EXPECT_EQ(decoding[0].text, "12.50");
    decoding.decode(framed(1, "{"));
    EXPECT_EQ(decoding.kind(), Rejection::Kind::undecodable);
}

TEST(RegistryDecoder, TheStartRefusesWhatNoSchemaCouldHave) {
    const auto make = [](Format format, Envelope envelope, std::string path) {
        RegistryDecoding(by_registry(format, envelope), {std::move(path)});
    };
    EXPECT_THROW(make(Format::raw, Envelope::none, ""), FormatError);
    EXPECT_THROW(make(Format::avro, Envelope::none, "id"), FormatError);
    EXPECT_THROW(make(Format::avro, Envelope::connect, "/id"), FormatError);
    EXPECT_THROW(make(Format::protobuf, Envelope::debezium, "id"), FormatError);
    EXPECT_THROW(make(Format::json, Envelope::none, "id"), FormatError);
    EXPECT_NO_THROW(make(Format::avro, Envelope::debezium, "/id"));
}

}  // namespace
}  // namespace onceward::test
