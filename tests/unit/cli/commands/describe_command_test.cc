// `onceward describe --openapi` as a command: what it prints is JSON, a document whose parts fit
// each other, and what the configuration says.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "tests/unit/cli/commands/program_run.h"

namespace onceward {
namespace {

using testing::HasSubstr;

const char* const routes_of_each_kind = R"(group: shop
kafka: {bootstrap_servers: localhost}
postgres: {dsn: host=localhost}
http:
  tokens: {jwks: 'https://issuer.example/keys', issuer: 'https://issuer.example', audiences: [shop]}
  routes:
    - method: POST
      path: /orders/{id}
      status_path: /order-keys
      wait: 2s
      tenant: {claim: org}
      key: {charset: uuid}
      sink: {table: orders, columns: {id: {header: '{id}'}, amount: /amount}}
      ledger: {name: orders, store: log, retention: 36h, rotate_after: 1h}
    - method: POST
      path: /items
      body: bulk
      fingerprint: none
      tenant: {header: X-Tenant}
      token: none
      sink: {table: items, columns: {id: /id}}
      ledger: {retention: 2h, rotate_after: 15m}
    - method: POST
      path: /charges
      token: none
      key: {header: X-Key, format: structured, length_min: 8, length_max: 64}
      upstream: {url: 'https://pay.example/v1', timeout: 4s, honours_key: true, on_unknown: release}
      ledger: {store: lease, lease: 90s, retention: 48h}
    - method: POST
      path: /webhooks
      topic: payments
      token: none
      key: {field: /id}
      signature: {scheme: stripe, secret: s3cret}
    - method: GET
      path: /orders
      token: none
      key: {use: forbidden}
      topic: reads
)";

cli_tests::Ran described(const std::string& configuration) {
    const cli_tests::Folder folder;
    folder.write("onceward.yaml", configuration);
    return folder.run("describe --openapi -c onceward.yaml");
}

class DescribeCommand : public testing::Test {
  protected:
    const nlohmann::json& operation(const char* path, const char* method = "post") const {
        return document_.at("paths").at(path).at(method);
    }
    const nlohmann::json& contract(const char* path, const char* method = "post") const {
        return operation(path, method).at("x-onceward");
    }
    const nlohmann::json& values(const char* path, const char* method = "post") const {
        return contract(path, method).at("values");
    }
    std::string sentence(const char* path, const char* name) const {
        return contract(path).at(name).get<std::string>();
    }
    // Each `$ref` of the document leads to something in it.
    void expect_references(const nlohmann::json& part) const {
        for (const auto& [name, member] : part.items()) {
            if (part.is_object() && name == "$ref") {
                const nlohmann::json::json_pointer place(member.get<std::string>().substr(1));
                EXPECT_TRUE(document_.contains(place)) << member;
            } else if (member.is_structured()) {
                expect_references(member);
            }
        }
    }
    void expect_operation(const std::string& path, const nlohmann::json& operation) const {
        std::set<std::string> in_path;
        for (const auto& parameter : operation.value("parameters", nlohmann::json::array())) {
            const auto in = parameter.at("in").get<std::string>();
            EXPECT_TRUE(in == "path" || in == "header") << in;
            EXPECT_TRUE(parameter.at("schema").is_object());
            if (in != "path") continue;
            EXPECT_EQ(parameter.at("required"), true);
            in_path.insert("{" + parameter.at("name").get<std::string>() + "}");
        }
        static const std::regex part(R"(\{[^}]*\})");
        const std::sregex_token_iterator begin(path.begin(), path.end(), part), end;
        EXPECT_EQ(in_path, std::set<std::string>(begin, end));
        static const std::regex status(R"([1-5](\d\d|XX)|default)");
        EXPECT_FALSE(operation.at("responses").empty());
        for (const auto& [name, response] : operation.at("responses").items()) {
            EXPECT_TRUE(std::regex_match(name, status)) << name;
            EXPECT_TRUE(response.at("description").is_string());
        }
        if (operation.contains("requestBody")) {
            EXPECT_FALSE(operation.at("requestBody").at("content").empty());
        }
        for (const auto& needed : operation.value("security", nlohmann::json::array())) {
            const auto& schemes = document_.at("components").at("securitySchemes");
            for (const auto& [name, scopes] : needed.items()) EXPECT_TRUE(schemes.contains(name));
        }
    }

    const cli_tests::Ran printed_ = described(routes_of_each_kind);
    const nlohmann::json document_ = nlohmann::json::parse(printed_.output, nullptr, false);
};

TEST_F(DescribeCommand, PrintsADocumentWhosePartsFitEachOther) {
    ASSERT_EQ(printed_.exit_code, 0) << printed_.output;
    ASSERT_TRUE(document_.is_object()) << printed_.output;
    EXPECT_EQ(document_.at("openapi"), "3.1.0");
    EXPECT_EQ(document_.at("info").at("title"), "shop");
    EXPECT_NE(document_.at("info").at("version"), "");
    EXPECT_EQ(document_.at("paths").size(), 6U);
    std::set<std::string> names;
    for (const auto& [path, operations] : document_.at("paths").items()) {
        for (const auto& [method, operation] : operations.items()) {
            SCOPED_TRACE(method + " " + path);
            expect_operation(path, operation);
            EXPECT_TRUE(names.insert(operation.at("operationId").get<std::string>()).second);
        }
    }
    expect_references(document_);
    EXPECT_EQ(printed_.output.find("s3cret"), std::string::npos);
}

// Clients are built where the variables of a process are not set.
TEST_F(DescribeCommand, NeedsNoVariableOfTheProcess) {
    const std::string unset =
        "workers: ${ONCEWARD_UNSET}\nmemory: {budget: '${ONCEWARD_UNSET}'}\n"
        "batch: {bytes: '${ONCEWARD_UNSET}'}\ntraces: {endpoint: '${ONCEWARD_UNSET}'}\n";
    const cli_tests::Ran ran = described(routes_of_each_kind + unset);
    EXPECT_EQ(ran.exit_code, 0) << ran.errors;
    EXPECT_EQ(ran.output, printed_.output);
}

TEST_F(DescribeCommand, ARouteToASinkIsAsTheConfigurationSays) {
    EXPECT_EQ(values("/orders/{id}"), nlohmann::json::parse(R"({
        "target": "sink",
        "key": {"minted_by": "client", "in": "header", "name": "Idempotency-Key",
                "required": true, "format": "either", "uuid": true},
        "operation": "POST /orders/{id}",
        "tenant": {"in": "token", "name": "org"},
        "conflict": true, "wait_milliseconds": 2000, "ledger": "orders",
        "retention_seconds": 129600})"));
    const auto& orders = operation("/orders/{id}");
    EXPECT_TRUE(orders.contains("security"));
    EXPECT_TRUE(orders.at("requestBody").at("content").contains("application/json"));
    EXPECT_THAT(sentence("/orders/{id}", "promise"), HasSubstr("at most once for each key"));
    EXPECT_THAT(sentence("/orders/{id}", "claimed"), HasSubstr("in the transaction"));
    EXPECT_TRUE(operation("/order-keys", "get").at("responses").contains("410"));
    EXPECT_EQ(values("/items").at("key").at("in"), "item");
    EXPECT_EQ(values("/items").at("conflict"), false);
    EXPECT_EQ(values("/items").at("retention_seconds"), 7200);
    EXPECT_EQ(values("/items").at("tenant").at("name"), "X-Tenant");
    EXPECT_TRUE(operation("/items").at("responses").contains("207"));
    EXPECT_FALSE(operation("/items").contains("security"));
}

TEST_F(DescribeCommand, ARouteToAnUpstreamTellsItsLeaseAndItsDownstreamKey) {
    EXPECT_EQ(values("/charges"), nlohmann::json::parse(R"({
        "target": "upstream",
        "key": {"minted_by": "client", "in": "header", "name": "X-Key", "required": true,
                "format": "structured", "bytes": {"least": 8, "most": 64}},
        "operation": "POST /charges", "tenant": null, "conflict": true,
        "wait_milliseconds": 0, "ledger": "shop/POST /charges", "retention_seconds": 172800,
        "lease_seconds": 90, "downstream_key": "Idempotency-Key", "honours_key": true,
        "on_unknown": "release"})"));
    EXPECT_THAT(sentence("/charges", "promise"), HasSubstr("called at least once"));
    EXPECT_THAT(sentence("/charges", "in_doubt"), HasSubstr("calls again"));
    EXPECT_EQ(printed_.output.find("pay.example"), std::string::npos);
}

TEST_F(DescribeCommand, ARouteToATopicPromisesNoSingleRecord) {
    const auto& key = values("/webhooks").at("key");
    EXPECT_EQ(key.at("minted_by"), "sender");
    EXPECT_EQ(key.at("name"), "/id");
    EXPECT_THAT(sentence("/webhooks", "signed"), HasSubstr("Stripe-Signature"));
    EXPECT_THAT(sentence("/webhooks", "promise"), HasSubstr("one record or more"));
    EXPECT_TRUE(operation("/webhooks").at("responses").contains("202"));
    EXPECT_TRUE(values("/orders", "get").at("key").is_null());
    EXPECT_FALSE(contract("/orders", "get").contains("repeat"));
    EXPECT_FALSE(operation("/orders", "get").contains("requestBody"));
}

std::string routes_with(const std::string& dsn, const std::string& path) {
    return "group: shop\nkafka: {bootstrap_servers: '${ONCEWARD_NOT_SET_BROKER}'}\n"
           "postgres: {dsn: '" +
           dsn + "'}\nhttp: {routes: [{method: POST, path: '" + path +
           "', topic: a, key: {field: /id}, signature: {scheme: github, secret: "
           "'${ONCEWARD_NOT_SET_SECRET}'}}]}\n";
}

TEST(DescribeCommandWithoutVariables, WarnsOfThemAndPrintsTheContract) {
    const std::string configuration = routes_with("${ONCEWARD_NOT_SET_DSN}", "/events");
    const cli_tests::Ran answer = described(configuration);
    EXPECT_EQ(answer.exit_code, 0);
    const auto document = nlohmann::json::parse(answer.output, nullptr, false);
    ASSERT_TRUE(document.is_object()) << answer.output;
    EXPECT_TRUE(document.at("paths").contains("/events"));
    EXPECT_THAT(answer.errors, HasSubstr("The variable ONCEWARD_NOT_SET_DSN is not set"));
}

TEST(DescribeCommandWithoutVariables, RefusesWhereTheContractHangsOnOne) {
    const cli_tests::Ran answer =
        described(routes_with("host=localhost", "/${ONCEWARD_NOT_SET_PATH}"));
    EXPECT_EQ(answer.exit_code, 78) << answer.errors;
    EXPECT_THAT(answer.errors, HasSubstr("http.routes[0].path: The contract depends on this"));
}

TEST(DescribeCommandWithoutRoutes, HasNoOpenApiToPrint) {
    const cli_tests::Ran answer = described(
        "group: shop\nkafka: {bootstrap_servers: localhost}\npostgres: {dsn: host=localhost}\n"
        "topics: [{name: a, key: {preset: idempotency-key}, sink: {table: t, columns: {id: "
        "/id}}}]\n");
    EXPECT_NE(answer.exit_code, 0);
    EXPECT_THAT(answer.errors, HasSubstr("OpenAPI describes routes, and there is none."));
}

}  // namespace
}  // namespace onceward
