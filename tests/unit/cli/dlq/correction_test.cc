// A corrected payload is sent under its letter's key, or not at all.

#include "cli/operate/correction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/configuration/load.h"

namespace onceward {
namespace {

using testing::HasSubstr;

// `key`: the topic's key options.
std::string problem(const std::string& key, const std::string& letter, const std::string& payload,
                    std::vector<StoredHeader> headers = {}) {
    const std::string text =
        "group: shop\nkafka: {bootstrap_servers: 'localhost:1'}\npostgres: {dsn: 'host=nowhere'}\n"
        "topics:\n  - name: orders\n    key: {" +
        key + "}\n    sink: {table: orders, columns: {id: /id}}\n";
    const Configuration configuration = load_configuration_text(text, "test.yaml").configuration;
    DeadLetterRecord record;
    record.key = "customer";
    record.payload = letter;
    record.headers = std::move(headers);
    return problem_of_correction("shop", configuration.topics.at(0), record, payload);
}

TEST(Correction, HasTheKeyThatThePayloadHad) {
    const std::string key = "sources: [{field: /id}]";
    EXPECT_EQ(problem(key, R"({"id": "a", "amount": "x"})", R"({"amount": 1, "id": "a"})"), "");
    EXPECT_THAT(problem(key, R"({"id": "a"})", R"({"id": "b"})"), HasSubstr("another key"));
    EXPECT_THAT(problem(key, R"({"id": "a"})", "{}"), HasSubstr("would not be applied"));
    EXPECT_THAT(problem(key, R"({"id": "a"})", "{"), HasSubstr("undecodable"));
    EXPECT_THAT(problem(key, "{", R"({"id": "a"})"), HasSubstr("the letter has no key"))
        << "a later redrive of the letter could apply it under the key that it has then";
}

TEST(Correction, HasTheSameTenantToo) {
    const std::string key = "sources: [{field: /id}], tenant: /shop";
    EXPECT_EQ(problem(key, R"({"id": "a", "shop": "1"})", R"({"id": "a", "shop": "1", "b": 2})"),
              "");
    EXPECT_THAT(problem(key, R"({"id": "a", "shop": "1"})", R"({"id": "a", "shop": "2"})"),
                HasSubstr("another key"));
}

TEST(Correction, OfALetterThatCannotBeDecodedHasTheKeyOfItsHeader) {
    const std::vector<StoredHeader> headers{{"id", "a"}};
    EXPECT_EQ(problem("sources: [{header: id}]", "{", "{}", headers), "");
    EXPECT_EQ(problem("sources: [record_key]", "{", "{}"), "");
    EXPECT_THAT(problem("sources: [{header: id}]", "{", "{}"), HasSubstr("would not be applied"));
}

TEST(Correction, OfAnotherKindOfKeyIsRefused) {
    const std::string key = "sources: [{field: /id}, record_key]";
    EXPECT_THAT(problem(key, R"({"id": "customer"})", "{}"), HasSubstr("another key"))
        << "the same text from another place is another key";
    EXPECT_THAT(problem("preset: body-sha256", R"({"id": "a"})", R"({"id": "b"})"),
                HasSubstr("another key"));
}

}  // namespace
}  // namespace onceward
