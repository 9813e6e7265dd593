#include "consumer/registry/registry_protocol.h"

#include <gtest/gtest.h>

#include "given_registry.h"

namespace onceward {
namespace {

using Kind = RegistryAnswer::Kind;
using test::schema_reply;

TEST(RegistryProtocol, AsksByNumberByGuidAndByVersion) {
    EXPECT_EQ(schema_path({17, ""}), "/schemas/ids/17");
    EXPECT_EQ(schema_path({0, "89791762-2336-186f-9674-299b90a8e2df"}),
              "/schemas/guids/89791762-2336-186f-9674-299b90a8e2df");
    EXPECT_EQ(reference_path({"a.proto", "shop/orders v1", 3}),
              "/subjects/shop%2Forders%20v1/versions/3?deleted=true");
    EXPECT_EQ(latest_path("orders-value"), "/subjects/orders-value/versions/latest");
}

TEST(RegistryProtocol, AVersionOfASubjectHasItsNumber) {
    EXPECT_EQ(registered_number(schema_reply(R"("schema":"x","id":7,"version":2)")), 7);
    EXPECT_EQ(registered_number(schema_reply(R"("schema":"x")")), std::nullopt);
    EXPECT_EQ(registered_number(schema_reply(R"("schema":"x","id":99999999999)")), std::nullopt);
    EXPECT_EQ(registered_number({.status = 404, .body = R"({"id":7})"}), std::nullopt);
}

TEST(RegistryProtocol, ASchemaWithoutATypeIsAvro) {
    const RegistryAnswer answer = read_answer(schema_reply(R"("schema":"\"string\"")"));
    EXPECT_EQ(answer.kind, Kind::found);
    EXPECT_EQ(answer.language, SchemaLanguage::avro);
    EXPECT_EQ(answer.text, "\"string\"");
    EXPECT_EQ(read_answer(schema_reply(R"("schema":"x","schemaType":null)")).language,
              SchemaLanguage::avro);
}

TEST(RegistryProtocol, ReadsTypeAndReferences) {
    const RegistryAnswer answer = read_answer(schema_reply(
        R"("schemaType":"PROTOBUF","schema":"syntax","references":[
           {"name":"money.proto","subject":"money","version":2}],"id":7)"));
    EXPECT_EQ(answer.language, SchemaLanguage::protobuf);
    ASSERT_EQ(answer.references.size(), 1U);
    EXPECT_EQ(answer.references[0], (SchemaReference{"money.proto", "money", 2}));
    EXPECT_EQ(read_answer(schema_reply(R"("schema":"{}","schemaType":"JSON")")).language,
              SchemaLanguage::json);
}

TEST(RegistryProtocol, AnUnknownLanguageIsRefused) {
    const RegistryAnswer answer =
        read_answer(schema_reply(R"("schema":"x","schemaType":"THRIFT")"));
    EXPECT_EQ(answer.kind, Kind::refused);
    EXPECT_EQ(answer.reason,
              "has it in the language `THRIFT`, which is none of AVRO, PROTOBUF and JSON");
}

TEST(RegistryProtocol, OnlyARegistrysOwnCodeSaysThatThereIsNoSuchSchema) {
    const auto kind = [](const std::string& body) {
        return read_answer({.status = 404, .body = body}).kind;
    };
    EXPECT_EQ(kind(R"({"error_code":40403,"message":"Schema 17 not found"})"), Kind::unknown);
    EXPECT_EQ(kind(R"({"error_code":40401,"message":"Subject not found"})"), Kind::unknown);
    EXPECT_EQ(kind(R"({"error_code":40402,"message":"Version not found"})"), Kind::unknown);
    EXPECT_EQ(kind(R"({"error_code":404,"message":"HTTP 404 Not Found"})"), Kind::failed);
    EXPECT_EQ(kind("<html>nginx</html>"), Kind::failed);
    EXPECT_EQ(kind(""), Kind::failed);
}

TEST(RegistryProtocol, TroubleIsNoVerdictOnAMessage) {
    for (const int status : {301, 400, 401, 403, 405, 408, 422, 429, 500, 502, 503, 504}) {
        const RegistryAnswer answer = read_answer({.status = status});
        EXPECT_EQ(answer.kind, Kind::failed) << status;
        EXPECT_NE(answer.reason.find(std::to_string(status)), std::string::npos) << answer.reason;
    }
    EXPECT_EQ(read_answer({.failure = "connection refused"}).reason,
              "cannot be reached: connection refused");
    for (const char* body : {"", "<html>", "[]", "{}", R"({"schema":7})", R"({"schema":"x")",
                             R"({"schema":"x","references":[{"name":"y"}]})"}) {
        EXPECT_EQ(read_answer({.status = 200, .body = body}).kind, Kind::failed) << body;
    }
}

TEST(RegistryProtocol, KeepsWhatTheRegistrySaysOnOneLine) {
    const RegistryAnswer answer =
        read_answer({.status = 500, .body = R"({"error_code":50001,"message":"store\naway"})"});
    EXPECT_EQ(answer.reason, "answers 500: store away");
    EXPECT_EQ(read_answer({.status = 401}).reason, "answers 401: it refuses the login");
}

TEST(RegistryProtocol, WaitsAsLongAsItIsAskedTo) {
    using std::chrono::seconds;
    EXPECT_EQ(retry_after("30"), seconds(30));
    EXPECT_EQ(retry_after("999999"), seconds(3600));
    EXPECT_EQ(retry_after("Wed, 25 Nov 2026 10:00:00 GMT"), std::nullopt);
    EXPECT_EQ(retry_after("-1"), std::nullopt);
    EXPECT_EQ(retry_after(""), std::nullopt);
    EXPECT_EQ(read_answer({.status = 503, .retry_after = seconds(5)}).retry_after, seconds(5));
}

}  // namespace
}  // namespace onceward
