// Who asks: bearer tokens, their tenants, and owners of keys; and what is counted of all.

#include <future>
#include <numeric>

#include "gateway/requests/keyed_request.h"
#include "tests/support/eventually.h"
#include "tests/unit/gateway/front_door_scene.h"
#include "tests/unit/gateway/signing_key.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Pair;

class TokenRouteTest : public FrontDoorTest {
  protected:
    TokenRouteTest() {
        options_.tokens = TokenOptions{.issuer = "https://issuer.example", .audiences = {}};
        RouteOptions& orders = to_sink();
        orders.token = true;
        orders.tenant = {TenantSource::Kind::claim, "tenant"};
    }
    void open(std::function<std::optional<std::string>()> fetch) {
        keys_ = std::make_unique<KeySetCache>(
            KeySetCacheOptions{.fetch = std::move(fetch), .every = 1h, .pause = 1h});
    }
    void open_with(const std::string& key_set) {
        open([key_set] { return key_set; });
        ASSERT_TRUE(support::eventually(10s, [&] { return keys_->current() != nullptr; }));
    }
    HttpResponse ask(const std::string& token) {
        return send("POST", "/orders/1",
                    {{"Idempotency-Key", "a"}, {"Authorization", "Bearer " + token}});
    }
    static nlohmann::json claims(const char* tenant) {
        nlohmann::json made = {{"iss", "https://issuer.example"}, {"exp", 4'000'000'000}};
        if (tenant != nullptr) made["tenant"] = tenant;
        return made;
    }
    test::SigningKey key_ = test::SigningKey::p256("e1");
};

TEST_F(TokenRouteTest, TheTenantIsTheTokens) {
    open_with(test::key_set({key_.public_part()}));
    EXPECT_EQ(ask(key_.sign(claims("acme"), "ES256")).status, 201);
    EXPECT_EQ(keyed_.requests.at(0).tenant, "acme");
    EXPECT_EQ(type(ask(key_.sign(claims(nullptr), "ES256"))), "400 tenant-missing");
}

TEST_F(TokenRouteTest, NoTokenAndABadOneAreA401AndSayHow) {
    open_with(test::key_set({key_.public_part()}));
    const HttpResponse missing = send("POST", "/orders/1", {{"Idempotency-Key", "a"}});
    EXPECT_EQ(type(missing), "401 token-missing");
    EXPECT_EQ(only_value(missing.headers, "WWW-Authenticate"), "Bearer");
    const HttpResponse refused = ask(test::SigningKey::p256("e1").sign(claims("acme"), "ES256"));
    EXPECT_EQ(type(refused), "401 token-refused");
    EXPECT_EQ(only_value(refused.headers, "WWW-Authenticate"), "Bearer error=\"invalid_token\"");
    EXPECT_TRUE(keyed_.requests.empty());
}

TEST_F(TokenRouteTest, WithoutAKeySetNothingIsRefusedForGood) {
    open([]() -> std::optional<std::string> { return std::nullopt; });
    std::promise<void> fetched;
    keys_->refreshed([&](std::chrono::milliseconds) { fetched.set_value(); });
    fetched.get_future().wait();
    EXPECT_EQ(type(ask(key_.sign(claims("acme"), "ES256"))), "503 unavailable");
}

// The issuer may have the key by now. A client would take a 401 as final.
TEST_F(TokenRouteTest, AnUnknownKeyIsA503UntilTheKeysMayBeFetchedAgain) {
    open_with(test::key_set({key_.public_part()}));
    const HttpResponse refused = ask(test::SigningKey::p256("e2").sign(claims("acme"), "ES256"));
    EXPECT_EQ(type(refused), "503 unavailable");
    const int seconds = std::stoi(std::string(only_value(refused.headers, "Retry-After").value()));
    EXPECT_GT(seconds, 3000) << "the rest of the pause";
    EXPECT_LE(seconds, 3600);
    EXPECT_TRUE(keyed_.requests.empty());
}

TEST_F(FrontDoorTest, AnOwnerAsksWhatBecameOfAKey) {
    to_topic();
    RouteOptions& sink = to_sink();
    sink.tenant = {TenantSource::Kind::header, "X-Tenant"};
    sink.status_path = "/keys";
    const HttpHeaders headers{{"Idempotency-Key", "\"a\""}, {"X-Tenant", "acme"}};
    HttpResponse response = send("GET", "/keys", headers);
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, R"({"state":"completed","status":201})");
    EXPECT_EQ(only_value(response.headers, "Idempotency-Key"), "\"a\"");
    ASSERT_EQ(keyed_.looks.size(), 1U);
    EXPECT_EQ(keyed_.looks[0], std::pair(std::size_t{1}, request_digest(sink, "acme", "a")));
    keyed_.status = KeyStatus{.state = KeyStatus::State::in_flight};
    EXPECT_EQ(send("GET", "/keys", headers).body, R"({"state":"in-flight"})");
    keyed_.status = KeyStatus{};
    EXPECT_EQ(type(send("GET", "/keys", headers)), "404 key-unknown");
    keyed_.status = Problem{.kind = ProblemKind::unavailable};
    EXPECT_EQ(type(send("GET", "/keys", headers)), "503 unavailable");
    EXPECT_EQ(type(send("GET", "/keys", {{"X-Tenant", "acme"}})), "400 key-missing");
    EXPECT_EQ(type(send("GET", "/keys", {{"Idempotency-Key", "a"}})), "400 tenant-missing");
    EXPECT_TRUE(keyed_.requests.empty()) << "asking carries nothing out";
}

TEST_F(FrontDoorTest, OfAnUpstreamsKeyItsOwnRoutesAreAsked) {
    const RouteOptions& charges = route("POST", "/charges", UpstreamTarget{});
    options_.routes[0].status_path = "/keys";
    EXPECT_EQ(send("GET", "/keys", {{"Idempotency-Key", "a"}}).status, 200);
    ASSERT_EQ(keyed_.looks.size(), 1U);
    EXPECT_EQ(keyed_.looks[0], std::pair(std::size_t{0}, request_digest(charges, "", "a")));
}

TEST_F(FrontDoorTest, AConnectionThatNamesTheTenantOrACredentialOfAnUpstreamIsA400) {
    UpstreamTarget upstream;
    upstream.forwarded = {"Authorization"};
    RouteOptions& charges = route("POST", "/charges", upstream);
    charges.tenant = {TenantSource::Kind::header, "X-Tenant"};
    const auto ask = [&](const std::string& connection) {
        return send("POST", "/charges",
                    {{"Idempotency-Key", "a"}, {"X-Tenant", "t"}, {"Connection", connection}});
    };
    EXPECT_EQ(type(ask("close, x-tenant")), "400 malformed-request");
    EXPECT_EQ(type(ask("AUTHORIZATION")), "400 malformed-request");
    EXPECT_TRUE(keyed_.requests.empty());
    EXPECT_EQ(ask("keep-alive, X-Other").status, 201);
}

TEST_F(FrontDoorTest, WhatWasAnsweredIsCounted) {
    to_sink();
    send("POST", "/orders/1", {{"Idempotency-Key", "a"}});
    keyed_.outcome = KeyedAnswer{.state = KeyState::replayed, .result = {.status = 201}};
    send("POST", "/orders/1", {{"Idempotency-Key", "a"}});
    send("POST", "/orders/1", {});
    send("POST", "/other", {});
    const std::vector<RouteTraffic> traffic = door_->traffic();
    ASSERT_EQ(traffic.size(), 2U);
    EXPECT_EQ(traffic[0].route, "POST /orders/{id}");
    EXPECT_THAT(traffic[0].statuses, ElementsAre(Pair(201, 2), Pair(400, 1)));
    EXPECT_EQ(traffic[0].replayed, 1);
    EXPECT_THAT(traffic[1].statuses, ElementsAre(Pair(404, 1)));
    const auto& times = traffic[0].times.counts;
    EXPECT_EQ(std::accumulate(times.begin(), times.end(), std::int64_t{0}), 3);
}

TEST_F(FrontDoorTest, QuestionsAfterAStatusAndWhatTheServerRefusesAreCountedApart) {
    to_sink().status_path = "/order-keys";
    send("POST", "/orders/1", {{"Idempotency-Key", "a"}});
    send("GET", "/order-keys", {{"Idempotency-Key", "a"}});
    send("GET", "/order-keys", {});
    door_->refused_by_server(431);
    const std::vector<RouteTraffic> traffic = door_->traffic();
    ASSERT_EQ(traffic.size(), 3U);
    EXPECT_THAT(traffic[0].statuses, ElementsAre(Pair(201, 1)));
    EXPECT_EQ(traffic[1].route, "GET /order-keys");
    EXPECT_THAT(traffic[1].statuses, ElementsAre(Pair(200, 1), Pair(400, 1)));
    EXPECT_EQ(traffic[2].route, "");
    EXPECT_THAT(traffic[2].statuses, ElementsAre(Pair(431, 1)));
}

TEST_F(FrontDoorTest, ARouteWithAsManyUnderWayAsItMayIsA503AtOnceAndTheOthersGoOn) {
    to_sink().at_once = 2;
    to_topic();
    keyed_.holds = true;
    const auto order = [&](const std::string& key) {
        return send("POST", "/orders/1", {{"Idempotency-Key", key}});
    };
    EXPECT_EQ(order("a").status, 0);
    EXPECT_EQ(order("b").status, 0);
    testing::internal::CaptureStderr();
    const HttpResponse refused = order("c");
    order("c");
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_EQ(type(refused), "503 unavailable");
    EXPECT_EQ(only_value(refused.headers, "Retry-After"), "1");
    const auto line = log.find("http.route_full");
    EXPECT_NE(line, std::string::npos);
    EXPECT_EQ(log.find("http.route_full", line + 1), std::string::npos) << "once in ten seconds";
    EXPECT_EQ(keyed_.requests.size(), 2U);
    EXPECT_EQ(send("POST", "/events", {{"Idempotency-Key", "c"}}).status, 202);
    EXPECT_EQ(door_->traffic()[0].under_way, 2);
    EXPECT_EQ(door_->traffic()[0].full, 2);
    keyed_.answer_held();
    EXPECT_EQ(door_->traffic()[0].under_way, 0);
    EXPECT_EQ(order("c").status, 0);
    keyed_.answer_held();
}

TEST_F(FrontDoorTest, AnAccessLogHasALineForEachRequestAndNoWordOfTheClients) {
    to_sink();
    options_.server.access_log = true;
    testing::internal::CaptureStderr();
    send("POST", "/orders/secret?token=secret", {{"Idempotency-Key", "secret"}});
    send("GET", "/secret", {});
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_NE(log.find("http.request route=\"POST /orders/{id}\" status=201"), std::string::npos)
        << log;
    EXPECT_NE(log.find("http.request route=\"\" status=404"), std::string::npos) << log;
    EXPECT_EQ(log.find("secret"), std::string::npos) << log;
}

}  // namespace
}  // namespace onceward
