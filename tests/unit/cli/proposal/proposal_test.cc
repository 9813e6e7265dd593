// From a sample of JSON to a configuration and a table. Each sample is run under what was proposed.

#include "cli/proposal/proposal.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/proposal/epoch_guess.h"
#include "tests/unit/cli/proposal/sampled.h"

namespace onceward::cli_tests {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Payloads of one member each.
Sampled values(const std::string& name, const std::vector<std::string>& written) {
    std::vector<std::string> payloads;
    for (const std::string& value : written) {
        payloads.push_back("{\"" + name + "\": " + value + "}");
    }
    return Sampled::of(payloads);
}

std::string type_for(const std::string& name, const std::vector<std::string>& written) {
    const Sampled sampled = values(name, written);
    EXPECT_THAT(sampled.refusals(), IsEmpty()) << name;
    return type_of(sampled.proposal(), name);
}

TEST(Proposal, EachKindOfValueHasItsType) {
    EXPECT_EQ(type_for("a", {"1", "-9223372036854775808", "null"}), "bigint");
    EXPECT_EQ(type_for("a", {"1", "18446744073709551615"}), "numeric");
    EXPECT_EQ(type_for("a", {"1", "1.50"}), "numeric");
    EXPECT_EQ(type_for("a", {"true", "false"}), "boolean");
    EXPECT_EQ(type_for("a", {R"("2024-05-31T07:08:09Z")", R"("2024-05-31T07:08:09.5+02:00")"}),
              "timestamptz");
    EXPECT_EQ(type_for("a", {R"("2024-05-31")"}), "date");
    EXPECT_EQ(type_for("a", {R"("2024-05-31")", R"("2024-05-31T07:08:09Z")"}), "text");
    EXPECT_EQ(type_for("a", {R"("0fe9b4e0-8f3b-4c87-9a3c-27f5a54ce0ad")"}), "uuid");
    EXPECT_EQ(type_for("a", {R"("0fe9b4e08f3b4c879a3c27f5a54ce0ad")"}), "text")
        << "32 digits are as likely a hash";
    EXPECT_EQ(type_for("a", {R"({"b": 1})"}), "jsonb");
    EXPECT_EQ(type_for("a", {"[1, [2]]"}), "jsonb");
    EXPECT_EQ(type_for("a", {R"("x")"}), "text");
    EXPECT_EQ(type_for("a", {"null"}), "text");
}

TEST(Proposal, NothingIsNotNullBySampleAlone) {
    EXPECT_THAT(table_ddl(values("a", {"1", "2"}).proposal()), Not(HasSubstr("NOT NULL")));
}

TEST(Proposal, WhatItCannotDecideIsSaidForEachField) {
    const Sampled sampled = Sampled::of({R"({"id": 1, "mixed": 1, "none": null, "tags": ["a"]})",
                                         R"({"id": 2, "mixed": "x", "none": null, "late": 1,
                                             "local": "2024-05-31T07:08:09", "o": {"b": 1}})"});
    const Proposal proposal = sampled.proposal();
    EXPECT_THAT(sampled.refusals(), IsEmpty());
    EXPECT_THAT(said_of(proposal, "mixed"), HasSubstr("different kinds: 1 numbers, 1 texts"));
    EXPECT_EQ(type_of(proposal, "mixed"), "text");
    EXPECT_THAT(said_of(proposal, "none"), HasSubstr("no value in the sample"));
    EXPECT_THAT(said_of(proposal, "late"), HasSubstr("missing in 1 of 2 records"));
    EXPECT_THAT(said_of(proposal, "tags"), HasSubstr("arrays, which stay one value"));
    EXPECT_THAT(said_of(proposal, "o"), HasSubstr("a path to a member"));
    EXPECT_THAT(said_of(proposal, "local"), HasSubstr("without an offset"));
    EXPECT_EQ(said_of(proposal, "id"), "") << "nothing was uncertain";
    for (const std::string& note : proposal.notes) {
        EXPECT_THAT(proposal_text(proposal), HasSubstr("\n#   " + note + "\n"));
    }
}

TEST(Proposal, ObjectsAmongScalarsKeepTheirMessagesOutOfTheDeadLetters) {
    EXPECT_EQ(type_for("a", {"1", R"({"b": 1})", R"("x")"}), "jsonb");
}

TEST(Proposal, CountsAreTimesByNameAndRangeTogether) {
    EXPECT_EQ(type_for("createdAt", {"1717139289500"}), "timestamptz");
    EXPECT_EQ(type_for("event_time", {"1717139289"}), "timestamptz");
    EXPECT_EQ(type_for("ts", {"1717139289500000"}), "timestamptz");
    EXPECT_EQ(type_for("amount", {"1717139289500"}), "bigint") << "its name says nothing";
    EXPECT_EQ(type_for("created_at", {"42"}), "bigint") << "its range says it is none";
    EXPECT_EQ(type_for("created_at", {"0", "1717139289500"}), "bigint");
    const Proposal proposal = values("created_at", {"1717139289500"}).proposal();
    EXPECT_THAT(proposal_text(proposal),
                HasSubstr("created_at: {field: /created_at, convert: epoch_millis}"));
    EXPECT_THAT(said_of(proposal, "created_at"), HasSubstr("`epoch_millis` is a guess"));
}

TEST(EpochGuess, KnowsNamesOfTimesInEachSpelling) {
    for (const char* name : {"created_at", "createdAt", "ts", "TIMESTAMP", "event-time", "paidOn",
                             "timestamp_ms", "eventTimestamp", "date"}) {
        EXPECT_TRUE(names_a_time(name)) << name;
    }
    for (const char* name : {"amount", "status", "at_risk", "format", "datum", "", "timeout"}) {
        EXPECT_FALSE(names_a_time(name)) << name;
    }
}

TEST(Proposal, ConnectsEnvelopeSaysTypesAndWhatIsNeverNull) {
    const Sampled sampled = Sampled::of({R"({"schema": {"type": "struct", "fields": [
        {"field": "id", "type": "int32", "optional": false},
        {"field": "day", "type": "int32", "optional": true,
         "name": "org.apache.kafka.connect.data.Date"},
        {"field": "price", "type": "bytes", "optional": false, "parameters": {"scale": "2"},
         "name": "org.apache.kafka.connect.data.Decimal"},
        {"field": "at", "type": "int64", "name": "org.apache.kafka.connect.data.Timestamp"},
        {"field": "raw", "type": "bytes", "optional": true}]},
        "payload": {"id": 1, "day": 19874, "price": "BNI=", "at": 1717139289500, "raw": null}})"});
    const Proposal proposal = sampled.proposal();
    EXPECT_THAT(sampled.refusals(), IsEmpty());
    EXPECT_EQ(type_of(proposal, "id"), "bigint NOT NULL");
    EXPECT_EQ(type_of(proposal, "day"), "date");
    EXPECT_EQ(type_of(proposal, "price"), "numeric NOT NULL");
    EXPECT_EQ(type_of(proposal, "at"), "timestamptz");
    EXPECT_EQ(type_of(proposal, "raw"), "bytea");
    const std::string text = proposal_text(proposal);
    EXPECT_THAT(text, HasSubstr("envelope: connect\n"));
    EXPECT_THAT(text, HasSubstr("id: {field: /id, required: true}\n"));
    EXPECT_THAT(text, HasSubstr("price: {field: /price, required: true}\n"));
}

TEST(Proposal, ASchemaThatItsValuesContradictIsNotFollowed) {
    const Sampled sampled = Sampled::of({R"({"schema": {"type": "struct", "fields": [
        {"field": "n", "type": "int32", "optional": false},
        {"field": "late", "type": "string", "optional": false}]},
        "payload": {"n": "many"}})"});
    const Proposal proposal = sampled.proposal();
    EXPECT_THAT(sampled.refusals(), IsEmpty());
    EXPECT_EQ(type_of(proposal, "n"), "text NOT NULL");
    EXPECT_THAT(said_of(proposal, "n"), HasSubstr("`bigint` by the schema, which does not take"));
}

TEST(Proposal, AChangeEventBecomesAnUpsertByTheRecordsKey) {
    const auto event = [](const char* operation, const char* before, const char* after) {
        return SampleRecord{.payload = std::string(R"({"op": ")") + operation + R"(", "before": )" +
                                       before + R"(, "after": )" + after + "}",
                            .key = R"({"id": 1})"};
    };
    const Sampled sampled({event("c", "null", R"({"id": 1, "name": "a"})"),
                           event("u", "null", R"({"id": 1, "name": "b"})"),
                           event("d", R"({"id": 1, "name": null})", "null"),
                           {.payload = std::nullopt, .key = R"({"id": 1})"}});
    const Proposal proposal = sampled.proposal();
    EXPECT_THAT(sampled.refusals(), IsEmpty());
    EXPECT_EQ(proposal.conflict_target, std::vector<std::string>{"id"});
    EXPECT_THAT(table_ddl(proposal), HasSubstr("PRIMARY KEY (\"id\")"));
    EXPECT_EQ(type_of(proposal, "name"), "text") << "a delete's nulls say nothing";
    const std::string text = proposal_text(proposal);
    EXPECT_THAT(text, HasSubstr("envelope: debezium\n"));
    EXPECT_THAT(text, HasSubstr("tombstones: skip"));
    EXPECT_THAT(text, HasSubstr("preset: kafka-coordinates\n"));
}

TEST(Proposal, ChangesOfPostgresHaveTheirPlaceInItsLogAsTheirKey) {
    const auto event = [](const std::string& source) {
        return SampleRecord{.payload = R"({"op": "c", "before": null, "after": {"id": 1}, )"
                                       R"("source": )" +
                                       source + "}",
                            .key = R"({"id": 1})"};
    };
    const std::string first = R"({"lsn": 1, "txId": 7})";
    const Sampled all({event(first), event(R"({"lsn": 2, "txId": 7})")});
    EXPECT_THAT(all.refusals(), IsEmpty());
    EXPECT_EQ(all.proposal().key.preset, "debezium-postgres");
    EXPECT_THAT(all.proposal().key.evidence, HasSubstr("2 of 2 distinct"));
    const Sampled one({event(first), event(R"({"file": "binlog.000001", "pos": 4})")});
    EXPECT_EQ(one.proposal().key.preset, "kafka-coordinates");
    EXPECT_THAT(one.proposal().key.evidence, HasSubstr("1 of 2 have a place"));
}

TEST(Proposal, WhatIsNotJsonBecomesColumnsOfTheWholeRecord) {
    const Sampled text({{.payload = "plain", .key = "k"}, {.payload = "text", .key = "l"}});
    EXPECT_THAT(text.refusals(), IsEmpty());
    EXPECT_THAT(proposal_text(text.proposal()), HasSubstr("format: raw\n"));
    EXPECT_EQ(type_of(text.proposal(), "payload"), "text");
    EXPECT_EQ(type_of(text.proposal(), "record_key"), "text");
    const Sampled bytes = Sampled::of({"\xff\xfe", "a"});
    EXPECT_THAT(bytes.refusals(), IsEmpty());
    EXPECT_EQ(type_of(bytes.proposal(), "payload"), "bytea");
    EXPECT_EQ(type_of(bytes.proposal(), "record_key"), "") << "no record has one";
    const Sampled lists = Sampled::of({"[1]", "[2]"});
    EXPECT_THAT(lists.refusals(), IsEmpty());
    EXPECT_EQ(type_of(lists.proposal(), "payload"), "jsonb");
}

TEST(Proposal, PayloadsThatNameASchemaAskForTheRegistry) {
    const Proposal proposal = Sampled::of({std::string("\0\0\0\0\1\2\2", 7)}).proposal();
    EXPECT_THAT(proposal_text(proposal), HasSubstr("format: raw\n"));
    EXPECT_THAT(proposal.notes, testing::Contains(HasSubstr("name it with --registry")));
    const Sampled json = Sampled::of({std::string("\0\0\0\0\1{\"a\": 1}", 13)});
    EXPECT_THAT(proposal_text(json.proposal()),
                HasSubstr("format: json\n    framing: confluent\n"));
}

TEST(Proposal, ARecordThatCannotBeReadIsCounted) {
    const Proposal proposal = Sampled::of({R"({"a": 1})", R"({"a": 2})", "{"}).proposal();
    EXPECT_EQ(type_of(proposal, "a"), "bigint");
    EXPECT_THAT(proposal.notes, testing::Contains(HasSubstr("1 of 3 payloads are not JSON")));
    EXPECT_THAT(proposal.notes, testing::Contains(HasSubstr("1 records of the sample cannot")));
}

TEST(Proposal, ADocumentWhoseMembersAreDataDoesNotBecomeATableOfThousands) {
    nlohmann::json wide;
    for (int i = 0; i < 1000; ++i) wide["k" + std::to_string(i)] = i;
    const Proposal proposal = Sampled::of({wide.dump()}).proposal();
    EXPECT_EQ(proposal.columns.size(), 200U);
    EXPECT_THAT(proposal.notes, testing::Contains(HasSubstr("1000 different members")));
}

}  // namespace
}  // namespace onceward::cli_tests
