// From Avro's schemas, and from what Connect's converters note in them, to columns.

#include <gmock/gmock.h>

#include "tests/unit/cli/proposal/sampled.h"
#include "tests/unit/consumer/decode/schemas.h"

namespace onceward::cli_tests {
namespace {

using test::FakeSchemas;
using test::framed;
using testing::HasSubstr;
using testing::IsEmpty;

WrittenSchema avro(std::string text) {
    return {.language = SchemaLanguage::avro, .text = std::move(text), .references = {}};
}

// A record of these fields, such as `{"name":"id","type":"long"}`.
std::string record_of(const std::string& fields) {
    return R"({"type":"record","name":"Order","fields":[)" + fields + "]}";
}

// What the registry's schema alone leads to.
Proposal by_schema(const std::string& text) {
    const WrittenSchema latest = avro(text);
    return Sampled({}).proposal(std::make_shared<FakeSchemas>(), &latest);
}

std::string column_of(const std::string& type) {
    return type_of(by_schema(record_of(R"({"name":"a","type":)" + type + "}")), "a");
}

TEST(AvroProposal, EachTypeHasItsColumnAndAUnionWithNullIsNullable) {
    EXPECT_EQ(column_of(R"("int")"), "bigint NOT NULL");
    EXPECT_EQ(column_of(R"(["null","long"])"), "bigint");
    EXPECT_EQ(column_of(R"("double")"), "double precision NOT NULL");
    EXPECT_EQ(column_of(R"("boolean")"), "boolean NOT NULL");
    EXPECT_EQ(column_of(R"("bytes")"), "bytea NOT NULL");
    EXPECT_EQ(column_of(R"({"type":"array","items":"int"})"), "jsonb NOT NULL");
    EXPECT_EQ(column_of(R"({"type":"enum","name":"E","symbols":["A"]})"), "text NOT NULL");
    EXPECT_EQ(column_of(R"({"type":"int","logicalType":"date"})"), "date NOT NULL");
    EXPECT_EQ(column_of(R"(["null",{"type":"long","logicalType":"timestamp-micros"}])"),
              "timestamptz");
    EXPECT_EQ(column_of(R"({"type":"long","logicalType":"local-timestamp-millis"})"),
              "timestamp NOT NULL");
    EXPECT_EQ(column_of(R"({"type":"bytes","logicalType":"decimal","precision":9,"scale":2})"),
              "numeric NOT NULL");
    EXPECT_EQ(column_of(R"({"type":"string","logicalType":"uuid"})"), "uuid NOT NULL");
}

TEST(AvroProposal, WhatConnectNotesInASchemaIsReadByTheDecoderAndNeedsNoConversion) {
    const Proposal proposal = by_schema(record_of(
        R"({"name":"day","type":["null",{"type":"int","connect.name":"io.debezium.time.Date"}]},
           {"name":"at","type":{"type":"long","connect.name":"io.debezium.time.MicroTimestamp"}},
           {"name":"doc","type":{"type":"string","connect.name":"io.debezium.data.Json"}})"));
    const std::string text = proposal_text(proposal);
    EXPECT_EQ(type_of(proposal, "day"), "date");
    EXPECT_THAT(text, HasSubstr("day: /day\n"));
    EXPECT_EQ(type_of(proposal, "at"), "timestamp NOT NULL");
    EXPECT_THAT(text, HasSubstr("at: {field: /at, required: true}\n"));
    EXPECT_EQ(type_of(proposal, "doc"), "jsonb NOT NULL");
}

TEST(AvroProposal, AUnionOfSeveralTypesIsSaid) {
    const Proposal proposal = by_schema(record_of(R"({"name":"a","type":["int","string"]})"));
    EXPECT_EQ(type_of(proposal, "a"), "jsonb NOT NULL");
    EXPECT_THAT(said_of(proposal, "a"), HasSubstr("a union of 2 types"));
}

TEST(AvroProposal, SchemasOfOneTopicAreTakenTogether) {
    const auto schemas = std::make_shared<FakeSchemas>();
    schemas->avro(1, record_of(R"({"name":"id","type":"long"},{"name":"n","type":"int"})"));
    schemas->avro(2, record_of(R"({"name":"id","type":"long"},{"name":"n","type":"string"},
                                  {"name":"late","type":"string"})"));
    const Sampled sampled =
        Sampled::of({framed(1, "\x02\x04"), framed(2, "\x04\x02x\x02y")});
    const Proposal proposal = sampled.proposal(schemas);
    EXPECT_EQ(type_of(proposal, "id"), "bigint NOT NULL");
    EXPECT_EQ(type_of(proposal, "late"), "text") << "one of the schemas lacks it";
    EXPECT_EQ(type_of(proposal, "n"), "text NOT NULL");
    EXPECT_THAT(said_of(proposal, "n"), HasSubstr("declared in different ways"));
    EXPECT_EQ(proposal.key.source, "{field: /id}");
    EXPECT_THAT(proposal.key.evidence, HasSubstr("2 of 2 distinct"));
    EXPECT_THAT(proposal_text(proposal),
                HasSubstr("format: avro\n    registry: main\n"));
}

TEST(AvroProposal, AChangeEventsRowIsThatOfAfterAndItsKeyThatOfTheRecord) {
    const std::string row = record_of(R"({"name":"id","type":"int"},{"name":"day","type":
        {"type":"int","connect.name":"io.debezium.time.Date"}})");
    const auto schemas = std::make_shared<FakeSchemas>();
    schemas->avro(1, R"({"type":"record","name":"Envelope","fields":[
        {"name":"before","type":["null",)" + row + R"(]},{"name":"after","type":["null","Order"]},
        {"name":"op","type":"string"}]})");
    schemas->avro(2, R"({"type":"record","name":"Key","fields":[{"name":"id","type":"int"}]})");
    const std::string payload("\0\2\2\4\2c", 6);
    const Sampled sampled({{.payload = framed(1, payload), .key = framed(2, "\x02")}});
    const Proposal proposal = sampled.proposal(schemas);
    EXPECT_EQ(type_of(proposal, "id"), "bigint NOT NULL");
    EXPECT_EQ(type_of(proposal, "day"), "date NOT NULL");
    EXPECT_EQ(proposal.conflict_target, std::vector<std::string>{"id"});
    EXPECT_THAT(proposal_text(proposal), HasSubstr("envelope: debezium\n"));
    EXPECT_THAT(proposal.notes, testing::Not(testing::Contains(HasSubstr("cannot be read"))));
}

TEST(AvroProposal, ASchemaThatCannotBeHadIsSaidWithItsRecords) {
    const auto schemas = std::make_shared<FakeSchemas>();
    schemas->avro(1, record_of(R"({"name":"id","type":"long"})"));
    schemas->answer(9, SchemaAnswer::State::unknown, "the registry has no such schema");
    const Proposal proposal = Sampled::of({framed(1, "\x02"), framed(9, "\x02")}).proposal(schemas);
    EXPECT_EQ(type_of(proposal, "id"), "bigint NOT NULL");
    EXPECT_THAT(proposal.notes, testing::Contains(HasSubstr("schema 9, of 1 of 2 payloads")));
    EXPECT_THAT(proposal.notes, testing::Contains(HasSubstr("1 records of the sample cannot")));
}

TEST(AvroProposal, ProtobufsFieldsAreLeftToPeople) {
    const auto schemas = std::make_shared<FakeSchemas>();
    schemas->know(1, {.language = SchemaLanguage::protobuf, .text = "", .references = {}});
    const Proposal proposal = Sampled::of({framed(1, std::string("\0x", 2))}).proposal(schemas);
    EXPECT_THAT(proposal_text(proposal), HasSubstr("format: raw\n"));
    EXPECT_THAT(proposal.notes, testing::Contains(HasSubstr("the schemas are Protobuf")));
}

}  // namespace
}  // namespace onceward::cli_tests
