// The part `http` of a configuration, up to the options of the front door.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/composition/gateway_options.h"
#include "cli/configuration/load.h"
#include "cli/describe/topic_contract.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

LoadResult load(const std::string& http) {
    const std::string head =
        "group: shop\nkafka: {bootstrap_servers: localhost}\npostgres: {dsn: host=localhost}\n";
    return load_configuration_text(head + http, "test.yaml");
}

GatewayOptions options(const std::string& http) {
    const LoadResult result = load(http);
    for (const Finding& finding : result.findings) ADD_FAILURE() << to_text(finding, "test.yaml");
    return gateway_options(result.configuration);
}

TEST(HttpConfiguration, ARouteNeedsNoMoreThanMethodPathAndTopic) {
    const GatewayOptions made =
        options("http: {routes: [{method: POST, path: /events, topic: events}]}\n");
    EXPECT_EQ(made.server.host, "127.0.0.1");
    EXPECT_EQ(made.server.port, 8080);
    EXPECT_FALSE(made.tokens);
    ASSERT_EQ(made.routes.size(), 1U);
    const RouteOptions& route = made.routes[0];
    EXPECT_EQ(operation_of(route.pattern), "POST /events");
    EXPECT_EQ(std::get<TopicTarget>(route.target).topic, "events");
    EXPECT_FALSE(route.token || route.signature || route.tenant_rate || route.key_rate);
}

TEST(HttpConfiguration, TheDefaultsAreThoseOfTheOptions) {
    const GatewayOptions made =
        options("http: {routes: [{method: POST, path: /events, topic: events}]}\n");
    const HttpLimits limits;
    EXPECT_EQ(made.server.limits.body_bytes, limits.body_bytes);
    EXPECT_EQ(made.server.limits.header_bytes, limits.header_bytes);
    EXPECT_EQ(made.server.limits.connections, limits.connections);
    EXPECT_EQ(made.server.limits.request_time, limits.request_time);
    EXPECT_EQ(made.server.limits.idle_time, limits.idle_time);
    EXPECT_EQ(made.server.limits.head_time, limits.head_time);
    EXPECT_FALSE(made.server.access_log);
    EXPECT_EQ(made.routes[0].at_once, 0U);
    const RouteOptions& route = made.routes[0];
    const KeyHeaderOptions key;
    EXPECT_EQ(route.key.header, key.header);
    EXPECT_EQ(route.key.format, key.format);
    EXPECT_EQ(route.key.use, key.use);
    EXPECT_EQ(route.key.length_max, key.length_max);
    EXPECT_EQ(TokenOptions{}.leeway, 60s);
}

TEST(HttpConfiguration, EveryOptionArrives) {
    const GatewayOptions made = options(
        "http:\n"
        "  listen: '[::1]:0'\n"
        "  limits: {body: 2KiB, headers: 4KiB, connections: 7, request_time: 2s, idle_time: 1s,\n"
        "           head_time: 900ms}\n"
        "  access_log: 'on'\n"
        "  tokens: {jwks: https://issuer.example/keys, issuer: i, audiences: [a, b], leeway: 5s}\n"
        "  routes:\n"
        "    - method: PUT\n"
        "      path: /a/{id}\n"
        "      at_once: 3\n"
        "      topic: t\n"
        "      forward_headers: [X-Kind, traceparent]\n"
        "      key: {header: X-Key, format: plain, use: optional, charset: uuid, length_min: 3,\n"
        "            length_max: 40}\n"
        "      tenant: {claim: org}\n"
        "      rate: {tenant: 10, key: 0.5, key_burst: 3}\n"
        "    - method: POST\n"
        "      path: /hooks\n"
        "      topic: t\n"
        "      key: {field: /data/id}\n"
        "      signature: {scheme: hmac, secret: one, previous_secret: two, header: S,\n"
        "                  time_header: T, tolerance: 1m}\n");
    EXPECT_EQ(made.server.host, "::1");
    EXPECT_EQ(made.server.limits.body_bytes, 2048U);
    EXPECT_EQ(made.server.limits.connections, 7U);
    EXPECT_EQ(made.server.limits.head_time, 900ms);
    EXPECT_TRUE(made.server.access_log);
    EXPECT_EQ(made.routes[0].at_once, 3U);
    EXPECT_EQ(made.server.limits.idle_time, 1s);
    ASSERT_TRUE(made.tokens);
    EXPECT_EQ(made.tokens->issuer, "i");
    EXPECT_THAT(made.tokens->audiences, ElementsAre("a", "b"));
    EXPECT_EQ(made.tokens->leeway, 5s);
    const RouteOptions& put = made.routes.at(0);
    EXPECT_THAT(std::get<TopicTarget>(put.target).forwarded, ElementsAre("X-Kind", "traceparent"));
    EXPECT_EQ(put.key.header, "X-Key");
    EXPECT_EQ(put.key.format, KeyFormat::plain);
    EXPECT_EQ(put.key.use, KeyUse::optional);
    EXPECT_TRUE(put.key.uuid);
    EXPECT_EQ(put.key.length_min, 3U);
    EXPECT_EQ(put.tenant.name, "org");
    EXPECT_TRUE(put.token);
    EXPECT_EQ(put.tenant_rate->burst, 10);
    EXPECT_EQ(put.key_rate->per_second, 0.5);
    EXPECT_EQ(put.key_rate->burst, 3);
    const RouteOptions& hook = made.routes.at(1);
    EXPECT_FALSE(hook.token) << "who signs has no token";
    EXPECT_EQ(hook.key_field, "/data/id");
    ASSERT_TRUE(hook.signature);
    EXPECT_THAT(hook.signature->secrets, ElementsAre(Secret("one"), Secret("two")));
    EXPECT_EQ(hook.signature->header, "S");
    EXPECT_EQ(hook.signature->time_header, "T");
    EXPECT_EQ(hook.signature->tolerance, 60s);
}

TEST(HttpConfiguration, ARouteToASinkHasTheOptionsOfATopicsMessages) {
    const LoadResult result = load(
        "http:\n"
        "  routes:\n"
        "    - {method: POST, path: /events, topic: events}\n"
        "    - method: POST\n"
        "      path: /orders/{id}\n"
        "      body: bulk\n"
        "      wait: 2s\n"
        "      fingerprint: none\n"
        "      format: raw\n"
        "      sink: {table: orders, columns: {id: {header: '{id}'}, body: {metadata: payload}}}\n"
        "      ledger: {store: log, retention: 2h, rotate_after: 15m, rotate_claims: 5000000}\n");
    for (const Finding& finding : result.findings) ADD_FAILURE() << to_text(finding, "test.yaml");
    const Configuration& configuration = result.configuration;
    ASSERT_EQ(configuration.route_sinks.size(), 1U);
    const TopicConfiguration& message = configuration.route_sinks.at(1);
    EXPECT_EQ(message.name, "POST /orders/{id}");
    EXPECT_EQ(message.format.format, Format::raw);
    EXPECT_EQ(std::get<TableSinkOptions>(message.sink).table, "orders");
    const LedgerOptions& ledger = configuration.ledgers.at("shop/POST /orders/{id}");
    EXPECT_EQ(ledger.store, StoreKind::log);
    EXPECT_EQ(ledger.retention, 2h);
    const GatewayOptions made = gateway_options(configuration);
    EXPECT_TRUE(std::holds_alternative<TopicTarget>(made.routes[0].target));
    EXPECT_TRUE(std::get<SinkTarget>(made.routes[1].target).bulk);
    EXPECT_EQ(made.routes[1].wait, 2s);
    EXPECT_FALSE(made.routes[1].fingerprint);
    const Contract contract = contract_of(configuration, "1");
    EXPECT_EQ(contract.routes[0].ledger, "");
    EXPECT_EQ(contract.routes[1].ledger, "shop/POST /orders/{id}");
    EXPECT_EQ(contract.routes[1].retention, 2h);
}

TEST(HttpConfiguration, AFingerprintOfFieldsHasThePathsOfTheRoutesFormat) {
    const std::string begin =
        "http:\n"
        "  routes:\n"
        "    - method: POST\n"
        "      path: /orders\n"
        "      sink: {table: orders, columns: {id: {header: X-Id}}}\n"
        "      fingerprint: ";
    const LoadResult result = load(begin + "{fields: [/id, /amount]}\n");
    for (const Finding& finding : result.findings) ADD_FAILURE() << to_text(finding, "test.yaml");
    const RouteOptions route = gateway_options(result.configuration).routes.at(0);
    EXPECT_TRUE(route.fingerprint);
    EXPECT_THAT(route.fingerprint_fields, ElementsAre("/id", "/amount"));
    const auto fault = [&](const std::string& fingerprint) {
        const LoadResult found = load(begin + fingerprint + "\n");
        return found.findings.empty() ? "" : found.findings[0].message;
    };
    EXPECT_THAT(fault("{fields: [id]}"), HasSubstr("Write `/id`."));
    EXPECT_THAT(fault("{fields: [/id]}\n      format: raw"),
                HasSubstr("Write `fingerprint: request`"));
    EXPECT_THAT(fault("payload"), HasSubstr("Write `none`, `request` or `{fields: [PATH, ...]}`."));
    EXPECT_EQ(fault("request"), "");
}

TEST(HttpConfiguration, AKeyThatAGetMustHaveIsAWarning) {
    const auto warning = [](const std::string& method, const std::string& key) {
        const LoadResult found = load("http: {routes: [{method: " + method +
                                      ", path: /orders, topic: t" + key + "}]}\n");
        EXPECT_TRUE(found.usable());
        return found.findings.empty() ? "" : found.findings[0].message;
    };
    for (const char* method : {"GET", "HEAD"}) {
        EXPECT_THAT(warning(method, ""), HasSubstr(std::string(method) + " without a key"));
        EXPECT_THAT(warning(method, ", key: {use: required}"), HasSubstr("use: forbidden"));
        EXPECT_EQ(warning(method, ", key: {use: optional}"), "");
        EXPECT_EQ(warning(method, ", key: {use: forbidden}"), "");
    }
    EXPECT_EQ(warning("POST", ""), "");
}

TEST(HttpConfiguration, WithoutRoutesThereMustBeTopics) {
    const LoadResult result = load("");
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_THAT(result.findings[0].message, HasSubstr("There is no topic."));
}

TEST(HttpConfiguration, TheStatusesThatFreeAKeyAreFailuresAndStandInTheContract) {
    const auto route = [](const std::string& statuses) {
        return load(
            "http:\n  routes:\n    - method: POST\n      path: /charges\n"
            "      upstream: {url: 'https://pay.example', free_on: " +
            statuses + "}\n      ledger: {store: lease}\n");
    };
    const LoadResult named = route("[429, 502]");
    for (const Finding& finding : named.findings) ADD_FAILURE() << to_text(finding, "test.yaml");
    const std::string contract = contract_text(contract_of(named.configuration, "1"));
    EXPECT_THAT(contract, HasSubstr("refused the request (429, 502)"));
    EXPECT_THAT(contract, HasSubstr("any other 5xx is passed on"));
    for (const char* statuses : {"[200]", "[600]", "[never]"}) {
        const LoadResult wrong = route(statuses);
        ASSERT_EQ(wrong.findings.size(), 1U) << statuses;
        EXPECT_THAT(wrong.findings[0].message, HasSubstr("from 400 to 599"));
    }
}

TEST(HttpConfiguration, ARouteToAnUpstreamIsReadAndItsContractTold) {
    const LoadResult result = load(
        "http:\n"
        "  routes:\n"
        "    - method: POST\n"
        "      path: /charges\n"
        "      status_path: /charge-keys\n"
        "      upstream: {url: 'https://pay.example/v1/', timeout: 4s, honours_key: true,\n"
        "                 on_unknown: release, concurrency: 3, forward: [Authorization],\n"
        "                 headers: {X-Own: one}, allow_private: [10.0.0.0/8]}\n"
        "      ledger: {store: lease, lease: 9s}\n");
    for (const Finding& finding : result.findings) ADD_FAILURE() << to_text(finding, "test.yaml");
    const GatewayOptions made = gateway_options(result.configuration);
    const UpstreamTarget& upstream = std::get<UpstreamTarget>(made.routes.at(0).target);
    EXPECT_EQ(upstream.url.reveal(), "https://pay.example/v1");
    EXPECT_EQ(upstream.timeout, 4s);
    EXPECT_TRUE(upstream.honours_key);
    EXPECT_EQ(upstream.on_unknown, UpstreamTarget::OnUnknown::release);
    EXPECT_EQ(upstream.concurrency, 3U);
    EXPECT_THAT(upstream.free_on, ElementsAre(408, 425, 429, 503));
    EXPECT_THAT(upstream.forwarded, ElementsAre("Authorization"));
    EXPECT_THAT(upstream.allow_private, ElementsAre("10.0.0.0/8"));
    ASSERT_EQ(upstream.headers.size(), 1U);
    const Contract contract = contract_of(result.configuration, "1");
    EXPECT_EQ(contract.routes.at(0).ledger, "shop/POST /charges");
    EXPECT_THAT(contract_text(contract), HasSubstr("before the upstream is called, for 9 s"));
    EXPECT_THAT(contract_text(contract), HasSubstr("GET /charge-keys with the same key returns"));
    EXPECT_THAT(open_api(contract), HasSubstr("upstream-unanswered"));
    const auto asked = nlohmann::json::parse(open_api(contract)).at("paths").at("/charge-keys");
    const auto& told = asked.at("get")
                           .at("responses")
                           .at("200")
                           .at("content")
                           .at("application/json")
                           .at("schema")
                           .at("properties");
    EXPECT_EQ(told.at("state").at("enum").size(), 3U);
    EXPECT_TRUE(told.contains("retry_after"));
}

TEST(HttpConfiguration, NoHeaderOfTheClientsMayStandForItsTenantOrItsKey) {
    for (const char* name : {"onceward-tenant", "Idempotency-Key"}) {
        const LoadResult result =
            load("http: {routes: [{method: POST, path: /a, topic: t, forward_headers: [" +
                 std::string(name) + "]}]}\n");
        ASSERT_EQ(result.findings.size(), 1U) << name;
        EXPECT_THAT(result.findings[0].message, HasSubstr("one of Onceward's own headers"));
    }
}

TEST(HttpConfiguration, ASecretIsInNoMessage) {
    const LoadResult result =
        load("http: {routes: [{method: POST, path: /a, signature: {secret: canary-of-mine}}]}\n");
    EXPECT_FALSE(result.usable());
    for (const Finding& finding : result.findings) {
        EXPECT_THAT(finding.message, Not(HasSubstr("canary")));
    }
}

TEST(HttpConfiguration, TheContractOfATopicSaysWhatItsProducersHaveToKnow) {
    const LoadResult result = load(
        "topics:\n"
        "  - name: payments\n"
        "    key: {preset: idempotency-key, fingerprint: payload}\n"
        "    ledger: {retention: 36h}\n"
        "    sink: {table: payments, columns: {id: /id}}\n");
    const std::string text = topic_contracts(result.configuration);
    for (const char* part :
         {"topic payments\n", "minted by the producer: the header ", "operation `shop/payments`",
          "36 h of the log's time", "the same key with another payload is not applied"}) {
        EXPECT_THAT(text, HasSubstr(part));
    }
}

TEST(HttpConfiguration, TheAdminPortIsAnotherOne) {
    const auto taken = [](const std::string& front, const std::string& admin) {
        const LoadResult loaded =
            load("admin: {listen: '" + admin + "'}\nhttp: {listen: '" + front +
                 "', routes: [{method: POST, path: /a, topic: a}]}\n");
        for (const Finding& finding : loaded.findings) {
            EXPECT_THAT(finding.message, HasSubstr("has this port too"));
        }
        return !loaded.findings.empty();
    };
    EXPECT_TRUE(taken("127.0.0.1:8080", "127.0.0.1:8080"));
    EXPECT_TRUE(taken("127.0.0.1:8080", "localhost:8080"));
    EXPECT_TRUE(taken("0.0.0.0:8080", "127.0.0.1:8080"));
    EXPECT_TRUE(taken("127.0.0.1:8080", "[::]:8080"));
    EXPECT_FALSE(taken("0.0.0.0:8080", "0.0.0.0:9464"));
    EXPECT_FALSE(taken("127.0.0.1:8080", "127.0.0.2:8080"));
    EXPECT_FALSE(taken("0.0.0.0:8080", "[::1]:8080"));
    EXPECT_FALSE(taken("127.0.0.1:0", "127.0.0.1:0"));
    EXPECT_FALSE(taken("127.0.0.1:8080", "off"));
}

TEST(HttpConfiguration, ARouteLeadsToATableAFunctionOrAnOutbox) {
    const LoadResult loaded = load(
        "http:\n  routes:\n"
        "    - {method: POST, path: /a, sink: {table: t, columns: {id: /id}}, status_path: /keys}\n"
        "    - {method: POST, path: /b, sink: {function: f, columns: {id: /id}}}\n"
        "    - {method: POST, path: /c, sink: {outbox: {topic: events}}}\n"
        "    - {method: POST, path: /d, sink: {table: t, columns: {id: /id}},\n"
        "       also_publish: {topic: events}, results: {max_bytes: 1KiB}}\n");
    for (const Finding& finding : loaded.findings) ADD_FAILURE() << to_text(finding, "test.yaml");
    const auto& sinks = loaded.configuration.route_sinks;
    ASSERT_EQ(sinks.size(), 4U);
    EXPECT_TRUE(std::holds_alternative<TableSinkOptions>(sinks.at(0).sink));
    EXPECT_EQ(std::get<FunctionSinkOptions>(sinks.at(1).sink).function, "f");
    EXPECT_EQ(std::get<OutboxOptions>(sinks.at(2).sink).topic, "events");
    EXPECT_EQ(sinks.at(3).also_publish.value().topic, "events");
    EXPECT_EQ(sinks.at(3).answers.limits.max_bytes, 1024U);
    for (const auto& [name, ledger] : loaded.configuration.ledgers) {
        EXPECT_TRUE(ledger.stores_results) << name;
    }
    const GatewayOptions made = gateway_options(loaded.configuration);
    EXPECT_EQ(made.routes[0].status_path, "/keys");
    EXPECT_EQ(made.routes[1].status_path, "");
}

}  // namespace
}  // namespace onceward
