// Subjects in a registry, as producers register them: Avro, references, Protobuf with an import,
// JSON. In `make test` the registry is in this process; `make registry-test` gives the address of a
// real one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/check/connect.h"
#include "cli/composition/registries.h"
#include "tests/integration/kafka/test_registry.h"
#include "tests/support/unique.h"

namespace onceward::kafka_tests {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using State = SchemaAnswer::State;

const std::string amount = R"({"type":"record","name":"Amount","namespace":"shop","fields":[
    {"name":"units","type":"long"},{"name":"currency","type":"string"}]})";
const std::string order = R"({"type":"record","name":"Order","namespace":"shop","fields":[
    {"name":"id","type":"string"},{"name":"amount","type":"shop.Amount"}]})";
const std::string money_proto = "syntax = \"proto3\";\npackage shop;\n"
                                "message Money {\n  int64 units = 1;\n}\n";
const std::string order_proto = "syntax = \"proto3\";\npackage shop;\n"
                                "import \"shop/money.proto\";\n"
                                "message Order {\n  string id = 1;\n  Money amount = 2;\n}\n";

class RegistrySubjects : public testing::Test {
  protected:
    RegistrySubjects() {
        configuration_.registries = {registry_.configuration()};
        cache_ = make_registries(configuration_).at("main");
    }

    int add(const std::string& subject, const std::string& type, const std::string& text,
            const json& references = json::array()) const {
        return registry_.add(subject, type, text, references);
    }
    SchemaAnswer find(int id) { return cache_->wait_for({id, ""}, std::chrono::seconds(20)); }
    // A subject of this test alone.
    std::string subject(const std::string& name) const { return name + suffix_; }

    TestRegistry registry_;
    std::string suffix_ = "-" + support::unique_name("subject");
    Configuration configuration_;
    std::shared_ptr<SchemaCache> cache_;
};

TEST_F(RegistrySubjects, AvroIsWhatHasNoType) {
    const SchemaAnswer answer = find(add(subject("amount"), "AVRO", amount));
    ASSERT_EQ(answer.state, State::known) << answer.reason;
    EXPECT_EQ(answer.schema->language, SchemaLanguage::avro);
    EXPECT_EQ(json::parse(answer.schema->text)["name"], "Amount");
}

TEST_F(RegistrySubjects, ReferencesAreThereWithTheSchema) {
    add(subject("amount"), "AVRO", amount);
    const SchemaAnswer answer =
        find(add(subject("order"), "AVRO", order,
                 {{{"name", "shop.Amount"}, {"subject", subject("amount")}, {"version", 1}}}));
    ASSERT_EQ(answer.state, State::known) << answer.reason;
    ASSERT_EQ(answer.schema->references.size(), 1U);
    EXPECT_EQ(answer.schema->references[0].name, "shop.Amount");
    EXPECT_EQ(json::parse(answer.schema->references[0].text)["name"], "Amount");
}

TEST_F(RegistrySubjects, ProtobufHasItsImports) {
    add(subject("money"), "PROTOBUF", money_proto);
    const SchemaAnswer answer =
        find(add(subject("order-proto"), "PROTOBUF", order_proto,
                 {{{"name", "shop/money.proto"}, {"subject", subject("money")}, {"version", 1}}}));
    ASSERT_EQ(answer.state, State::known) << answer.reason;
    EXPECT_EQ(answer.schema->language, SchemaLanguage::protobuf);
    EXPECT_THAT(answer.schema->text, HasSubstr("message Order"));
    ASSERT_EQ(answer.schema->references.size(), 1U);
    EXPECT_EQ(answer.schema->references[0].name, "shop/money.proto");
    EXPECT_THAT(answer.schema->references[0].text, HasSubstr("message Money"));
}

// Apicurio takes a text for a JSON Schema if it says so itself.
TEST_F(RegistrySubjects, JsonSchemaIsAThirdLanguage) {
    const char* const text =
        R"({"$schema":"http://json-schema.org/draft-07/schema#","type":"object"})";
    const SchemaAnswer answer = find(add(subject("json"), "JSON", text));
    ASSERT_EQ(answer.state, State::known) << answer.reason;
    EXPECT_EQ(answer.schema->language, SchemaLanguage::json);
}

TEST_F(RegistrySubjects, AnIdThatWasNeverGivenOutIsUnknown) {
    const SchemaAnswer answer = find(1'900'000'000);
    EXPECT_EQ(answer.state, State::unknown) << answer.reason;
    EXPECT_THAT(answer.reason, HasSubstr("registry `main` has no such schema"));
}

TEST_F(RegistrySubjects, TheCheckFindsTheRegistry) {
    const ConnectResult result = check_registries(configuration_);
    EXPECT_TRUE(result.findings.empty()) << result.findings[0].message;
    EXPECT_EQ(result.good.size(), 1U);
}

}  // namespace
}  // namespace onceward::kafka_tests
