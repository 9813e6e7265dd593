#include "gateway/contract/describe.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "gateway/http/problem.h"

namespace onceward {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Contract contract() {
    RouteOptions events;
    events.pattern = {"POST", "/webhooks/stripe"};
    events.key_field = "/id";
    events.signature.emplace();
    events.target = TopicTarget{.topic = "payments", .forwarded = {}};
    RouteOptions orders;
    orders.pattern = {"POST", "/orders/{id}"};
    orders.token = true;
    orders.tenant = {TenantSource::Kind::claim, "tenant"};
    orders.wait = std::chrono::seconds(2);
    orders.target = SinkTarget{};
    RouteOptions free;
    free.pattern = {"GET", "/orders/{id}"};
    free.key.use = KeyUse::forbidden;
    free.target = SinkTarget{};
    Contract made{.title = "orders", .version = "1.2.3", .server = {}, .routes = {}};
    made.routes.push_back({.route = events, .ledger = {}, .retention = {}});
    made.routes.push_back(
        {.route = orders, .ledger = "orders/http", .retention = std::chrono::hours(24)});
    made.routes.push_back(
        {.route = free, .ledger = "orders/http", .retention = std::chrono::minutes(90)});
    return made;
}

TEST(Describe, SaysForEachRouteWhoMintsTheKeyAndWhatARepeatGets) {
    const std::string text = contract_text(contract());
    for (const char* line :
         {"POST /webhooks/stripe\n", "minted by the sender of the event: /id of",
          "verified over the raw body", "topic `payments`", "POST /orders/{id}\n",
          "Idempotency-Key (required)", "tenant from the token's claim `tenant`",
          "`Idempotent-Replayed: true`", "at most 2000 ms", "24 h, ledger",
          "none; a Idempotency-Key is refused", "takes effect at most once"}) {
        EXPECT_THAT(text, HasSubstr(line));
    }
}

TEST(Describe, DurationsAreSaidInTheLargestUnit) {
    EXPECT_EQ(duration_words(std::chrono::hours(24)), "24 h");
    EXPECT_EQ(duration_words(std::chrono::minutes(90)), "90 min");
    EXPECT_EQ(duration_words(std::chrono::seconds(61)), "61 s");
    EXPECT_EQ(duration_words(std::chrono::seconds(0)), "0 s");
}

class OpenApiTest : public ::testing::Test {
  protected:
    const nlohmann::json document_ = nlohmann::json::parse(open_api(contract()));
    const nlohmann::json& operation(const char* path, const char* method) const {
        return document_.at("paths").at(path).at(method);
    }
    static std::vector<std::string> statuses(const nlohmann::json& operation) {
        std::vector<std::string> found;
        for (const auto& [status, response] : operation.at("responses").items()) {
            found.push_back(status);
        }
        return found;
    }
};

TEST_F(OpenApiTest, IsADocumentOfVersion3_1) {
    EXPECT_EQ(document_.at("openapi"), "3.1.0");
    EXPECT_EQ(document_.at("info").at("title"), "orders");
    EXPECT_EQ(document_.at("info").at("version"), "1.2.3");
    EXPECT_EQ(document_.at("paths").size(), 2U);
    EXPECT_EQ(document_.at("paths").at("/orders/{id}").size(), 2U);
    EXPECT_EQ(document_.at("components").at("securitySchemes").at("bearer").at("scheme"), "bearer");
}

TEST_F(OpenApiTest, TheKeyIsAParameterWhereItIsAHeader) {
    const auto& orders = operation("/orders/{id}", "post").at("parameters");
    ASSERT_EQ(orders.size(), 2U);
    EXPECT_EQ(orders[0].at("name"), "id");
    EXPECT_EQ(orders[0].at("in"), "path");
    EXPECT_EQ(orders[1].at("name"), "Idempotency-Key");
    EXPECT_EQ(orders[1].at("in"), "header");
    EXPECT_EQ(orders[1].at("required"), true);
    const auto& events = operation("/webhooks/stripe", "post").at("parameters");
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].at("name"), "X-Signature");
    EXPECT_EQ(operation("/orders/{id}", "get").at("parameters").size(), 1U);
}

TEST_F(OpenApiTest, ARouteHasTheAnswersThatItCanGive) {
    const auto& orders = operation("/orders/{id}", "post");
    EXPECT_THAT(statuses(orders), Contains("2XX"));
    EXPECT_THAT(statuses(orders), Contains("409"));
    EXPECT_THAT(statuses(orders), Contains("401"));
    EXPECT_THAT(statuses(orders), Not(Contains("429")));
    EXPECT_EQ(orders.at("security").at(0).at("bearer"), nlohmann::json::array());
    const auto& events = operation("/webhooks/stripe", "post");
    EXPECT_THAT(statuses(events), Contains("202"));
    EXPECT_THAT(statuses(events), Not(Contains("409")));
    EXPECT_FALSE(events.contains("security"));
    EXPECT_THAT(statuses(operation("/orders/{id}", "get")), Not(Contains("409")));
}

TEST_F(OpenApiTest, AStatusPathTellsOfKeysThatNobodyKnowsAndOfAnswersThatAreGone) {
    Contract asked = contract();
    asked.routes[1].route.status_path = "/order-keys";
    const auto made = nlohmann::json::parse(open_api(asked));
    const auto& status = made.at("paths").at("/order-keys").at("get");
    for (const char* code : {"200", "404", "410", "503"}) {
        EXPECT_THAT(statuses(status), Contains(code));
    }
}

TEST_F(OpenApiTest, AStatusPathRefusesAsItsRouteDoesBeforeTheTarget) {
    Contract asked = contract();
    RouteOptions& route = asked.routes[1].route;
    route.status_path = "/order-keys";
    route.token = true;
    route.tenant = {TenantSource::Kind::claim, "org"};
    const auto made = nlohmann::json::parse(open_api(asked));
    const auto& responses = made.at("paths").at("/order-keys").at("get").at("responses");
    const std::string wrong = responses.at("400").dump();
    for (const ProblemKind kind :
         {ProblemKind::key_missing, ProblemKind::key_malformed, ProblemKind::tenant_missing}) {
        EXPECT_THAT(wrong, HasSubstr(type_of(kind)));
    }
    EXPECT_THAT(responses.at("401").dump(), HasSubstr(type_of(ProblemKind::token_missing)));
    EXPECT_FALSE(responses.contains("409")) << "asking runs into nothing";
    route.token = false;
    route.tenant = {};
    const auto open = nlohmann::json::parse(open_api(asked));
    EXPECT_FALSE(open.at("paths").at("/order-keys").at("get").at("responses").contains("401"));
}

TEST_F(OpenApiTest, AProblemsTypesAreNamed) {
    const auto& conflict = operation("/orders/{id}", "post").at("responses").at("422");
    const auto& parts =
        conflict.at("content").at("application/problem+json").at("schema").at("allOf");
    EXPECT_EQ(parts.at(0).at("$ref"), "#/components/schemas/Problem");
    EXPECT_EQ(
        parts.at(1).at("properties").at("type").at("enum"),
        nlohmann::json::array({type_of(ProblemKind::key_reused), type_of(ProblemKind::rejected)}));
    EXPECT_TRUE(operation("/orders/{id}", "post")
                    .at("responses")
                    .at("409")
                    .at("headers")
                    .contains("Retry-After"));
}

}  // namespace
}  // namespace onceward
