// What is promised for each kind of target, in the contract's text and as OpenAPI alike.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "gateway/contract/describe.h"
#include "gateway/http/problem.h"

namespace onceward {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

RouteContract route_to(RouteTarget target) {
    RouteContract made;
    made.route.pattern = {"POST", "/orders/{id}"};
    made.route.target = std::move(target);
    if (!std::holds_alternative<TopicTarget>(made.route.target)) {
        made.ledger = "orders/http";
        made.retention = std::chrono::hours(24);
    }
    if (std::holds_alternative<UpstreamTarget>(made.route.target)) {
        made.lease = std::chrono::seconds(60);
    }
    return made;
}

Contract only(const RouteContract& route) {
    return {.title = "orders", .version = "1", .server = {}, .routes = {route}};
}

nlohmann::json document_of(const RouteContract& route) {
    return nlohmann::json::parse(open_api(only(route)));
}

nlohmann::json post_of(const RouteContract& route) {
    return document_of(route).at("paths").at(route.route.pattern.path).at("post");
}

UpstreamTarget upstream(bool honours_key) {
    UpstreamTarget target;
    target.honours_key = honours_key;
    return target;
}

TEST(ContractPromise, IsThatOfTheKindOfTarget) {
    const auto expect_both = [](const RouteContract& route, const auto& matcher) {
        EXPECT_THAT(contract_text(only(route)), matcher);
        EXPECT_THAT(post_of(route).at("x-onceward").at("promise").get<std::string>(), matcher);
    };
    expect_both(route_to(SinkTarget{}), HasSubstr("takes effect at most once for each key"));
    const auto no_promise = Not(HasSubstr("at most once"));
    expect_both(route_to(TopicTarget{.topic = "orders", .forwarded = {}}),
                AllOf(HasSubstr("one record or more"), no_promise));
    expect_both(route_to(upstream(true)),
                AllOf(HasSubstr("called at least once for each key"), no_promise));
    expect_both(route_to(upstream(false)), HasSubstr("called at most once for each key"));
    RouteContract keyless = route_to(SinkTarget{});
    keyless.route.key.use = KeyUse::forbidden;
    expect_both(keyless, AllOf(HasSubstr("each request is carried out"), no_promise));
    EXPECT_THAT(contract_text(only(keyless)), Not(HasSubstr("remembered  ")));
    RouteContract optional = route_to(SinkTarget{});
    optional.route.key.use = KeyUse::optional;
    expect_both(optional, AllOf(HasSubstr("at most once for each key"),
                                HasSubstr("without a key each request is carried out")));
}

TEST(ContractObject, HasWhatTheTextHas) {
    RouteContract route = route_to(upstream(true));
    route.route.tenant = {TenantSource::Kind::header, "X-Tenant"};
    route.route.signature.emplace();
    route.route.token = true;
    route.route.status_path = "/order-keys";
    const std::string text = contract_text(only(route));
    const auto object = post_of(route).at("x-onceward");
    for (const char* name :
         {"promise", "signed", "token", "key", "scope", "claimed", "downstream", "refused",
          "in_doubt", "repeat", "meanwhile", "conflict", "remembered", "status"}) {
        ASSERT_TRUE(object.contains(name)) << name;
        EXPECT_THAT(text, HasSubstr(object.at(name).get<std::string>()));
    }
    EXPECT_TRUE(document_of(route).at("x-onceward").contains("limits"));
}

TEST(ContractObject, HasForToolsWhatTheyCompare) {
    RouteContract route = route_to(upstream(true));
    route.route.wait = std::chrono::seconds(2);
    route.route.tenant = {TenantSource::Kind::header, "X-Tenant"};
    const auto values = post_of(route).at("x-onceward").at("values");
    EXPECT_EQ(values, nlohmann::json::parse(R"({
        "target": "upstream",
        "key": {"minted_by": "client", "in": "header", "name": "Idempotency-Key",
                "required": true, "format": "either", "bytes": {"least": 1, "most": 255}},
        "operation": "POST /orders/{id}",
        "tenant": {"in": "header", "name": "X-Tenant"},
        "conflict": true, "wait_milliseconds": 2000, "ledger": "orders/http",
        "retention_seconds": 86400, "lease_seconds": 60, "downstream_key": "Idempotency-Key",
        "honours_key": true, "on_unknown": "hold"})"));
}

TEST(ContractObject, AKeyOfAnEventIsItsSendersAndASignaturesHeaderIsNamed) {
    RouteContract route = route_to(TopicTarget{.topic = "payments", .forwarded = {}});
    route.route.key_field = "/id";
    route.route.signature.emplace().scheme = SignatureOptions::Scheme::stripe;
    const auto post = post_of(route);
    const auto& object = post.at("x-onceward");
    EXPECT_EQ(object.at("values").at("key").at("minted_by"), "sender");
    EXPECT_EQ(object.at("values").at("key").at("name"), "/id");
    EXPECT_THAT(object.at("signed").get<std::string>(), HasSubstr("Stripe-Signature"));
    EXPECT_EQ(post.at("parameters").back().at("name"), "Stripe-Signature");
    EXPECT_EQ(post.at("requestBody").at("required"), true);
    EXPECT_TRUE(post.at("requestBody").at("content").contains("application/json"));
}

TEST(Responses, OfAFunctionHaveItsOwnStatusesToo) {
    const auto responses = post_of(route_to(SinkTarget{.function = true})).at("responses");
    EXPECT_TRUE(responses.contains("default"));
    EXPECT_TRUE(responses.at("default").contains("headers"));
    EXPECT_FALSE(post_of(route_to(SinkTarget{})).at("responses").contains("default"));
    EXPECT_FALSE(post_of(route_to(SinkTarget{.bulk = true, .function = true}))
                     .at("responses")
                     .contains("default"));
}

TEST(KeyParameter, IsAsLongAsAKeyMayBeWritten) {
    const auto schema = [](KeyFormat format, bool uuid) {
        RouteContract route = route_to(SinkTarget{});
        route.route.key.format = format;
        route.route.key.uuid = uuid;
        return post_of(route).at("parameters").back().at("schema");
    };
    // Each character may need a backslash, and the quotes are written too.
    EXPECT_EQ(schema(KeyFormat::either, false).at("maxLength"), 512);
    EXPECT_EQ(schema(KeyFormat::either, false).at("minLength"), 1);
    EXPECT_EQ(schema(KeyFormat::structured, false).at("minLength"), 3);
    EXPECT_EQ(schema(KeyFormat::plain, false).at("maxLength"), 255);
    for (const KeyFormat format : {KeyFormat::either, KeyFormat::plain}) {
        EXPECT_EQ(schema(format, true).at("format"), "uuid");
        EXPECT_EQ(schema(format, true).at("minLength"), 36);
    }
    EXPECT_EQ(schema(KeyFormat::plain, true).at("maxLength"), 36);
    EXPECT_EQ(schema(KeyFormat::structured, true).at("minLength"), 38);
}

TEST(RequestBody, IsThereWhereTheRouteTakesOne) {
    RouteContract route = route_to(SinkTarget{});
    route.body_type = "application/json";
    const auto body = post_of(route).at("requestBody");
    EXPECT_EQ(body.at("required"), true);
    EXPECT_TRUE(body.at("content").contains("application/json"));
    EXPECT_TRUE(post_of(route_to(upstream(true))).at("requestBody").at("content").contains("*/*"));
    RouteContract read = route_to(upstream(true));
    read.route.pattern.method = "GET";
    const auto document = document_of(read);
    EXPECT_FALSE(document.at("paths").at("/orders/{id}").at("get").contains("requestBody"));
}

TEST(RequestBody, OfABulkIsItsItemsAndTheKeyIsInThem) {
    const RouteContract route = route_to(SinkTarget{.bulk = true});
    const auto post = post_of(route);
    const auto schema = post.at("requestBody").at("content").at("application/json").at("schema");
    EXPECT_EQ(schema.at("maxItems"), 1000);
    EXPECT_EQ(schema.at("items").at("required"), nlohmann::json::parse(R"(["body", "key"])"));
    EXPECT_EQ(schema.at("items").at("properties").at("key").at("maxLength"), 255);
    // The header would be refused.
    ASSERT_EQ(post.at("parameters").size(), 1U);
    EXPECT_EQ(post.at("parameters")[0].at("in"), "path");
    EXPECT_EQ(post.at("x-onceward").at("values").at("key").at("in"), "item");
    const auto& responses = post.at("responses");
    const auto answers =
        responses.at("207").at("content").at("application/json").at("schema").at("items");
    for (const char* name : {"key", "status", "replayed", "type", "body", "body_left_out"}) {
        EXPECT_TRUE(answers.at("properties").contains(name)) << name;
    }
    EXPECT_FALSE(responses.contains("409"));
    EXPECT_FALSE(responses.contains("422"));
    EXPECT_THAT(responses.at("400").dump(), HasSubstr(type_of(ProblemKind::key_not_expected)));
}

}  // namespace
}  // namespace onceward
