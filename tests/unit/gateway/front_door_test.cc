#include "gateway/front_door.h"

#include "gateway/requests/bulk_request.h"
#include "gateway/requests/keyed_request.h"
#include "tests/unit/gateway/front_door_scene.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST_F(FrontDoorTest, AnEventGoesToItsTopicUnderItsKey) {
    to_topic();
    const HttpResponse response =
        send("POST", "/events?x=1", {{"idempotency-key", "\"a\""}, {"x-kind", "made"}}, "body");
    EXPECT_EQ(response.status, 202);
    EXPECT_EQ(only_value(response.headers, "Idempotency-Key"), "\"a\"");
    ASSERT_EQ(topics_.records.size(), 1U);
    EXPECT_EQ(topics_.records[0].topic, "events");
    EXPECT_EQ(topics_.records[0].key, "a");
    EXPECT_EQ(topics_.records[0].payload, "body");
    EXPECT_THAT(topics_.records[0].headers,
                ElementsAre(Pair("Idempotency-Key", "a"), Pair("x-kind", "made")));
}

// The topic's reader trusts these two, and of several the last.
TEST_F(FrontDoorTest, NoHeaderOfTheClientsStandsForItsTenantOrItsKey) {
    RouteOptions& events =
        route("POST", "/tenants",
              TopicTarget{.topic = "events",
                          .forwarded = {"Onceward-Tenant", "idempotency-key", "X-Kind"}});
    events.tenant = {TenantSource::Kind::header, "X-Tenant"};
    const HttpResponse response = send("POST", "/tenants",
                                       {{"Idempotency-Key", "a"},
                                        {"X-Tenant", "mine"},
                                        {"onceward-tenant", "another's"},
                                        {"X-Kind", "made"}});
    EXPECT_EQ(response.status, 202);
    EXPECT_THAT(topics_.records[0].headers,
                ElementsAre(Pair("Idempotency-Key", "a"), Pair("onceward-tenant", "mine"),
                            Pair("x-kind", "made")));
}

TEST_F(FrontDoorTest, AnEventThatTheLogMayNotHaveIsA503ToBeSentAgain) {
    to_topic();
    topics_.fate = EventFate::unknown;
    const HttpResponse response = send("POST", "/events", {{"Idempotency-Key", "a"}});
    EXPECT_EQ(type(response), "503 unavailable");
    EXPECT_EQ(only_value(response.headers, "Retry-After"), "5");
    EXPECT_EQ(only_value(response.headers, "Idempotency-Key"), "a");
}

TEST_F(FrontDoorTest, AnEventForWhichThereIsNoRoomIsA503ThatSaysThatItWasNotStored) {
    to_topic();
    topics_.fate = EventFate::no_room;
    const HttpResponse response = send("POST", "/events", {{"Idempotency-Key", "a"}});
    EXPECT_EQ(type(response), "503 unavailable");
    EXPECT_THAT(response.body, HasSubstr("was not stored"));
    EXPECT_EQ(only_value(response.headers, "Retry-After"), "5");
}

TEST_F(FrontDoorTest, AnEventThatItsLogIsTooSmallForIsA413AsAnyLargeBody) {
    to_topic();
    topics_.fate = EventFate::too_large;
    const HttpResponse response = send("POST", "/events", {{"Idempotency-Key", "a"}});
    EXPECT_EQ(type(response), "413 body-too-large");
    EXPECT_EQ(only_value(response.headers, "Retry-After"), std::nullopt);
}

TEST_F(FrontDoorTest, RoutesAndMethodsThatAreNotThere) {
    to_topic();
    EXPECT_EQ(type(send("POST", "/other", {})), "404 not-found");
    const HttpResponse response = send("GET", "/events", {});
    EXPECT_EQ(type(response), "405 method-not-allowed");
    EXPECT_EQ(only_value(response.headers, "Allow"), "POST");
}

TEST_F(FrontDoorTest, AKeyThatIsMissingMalformedOrNotExpectedIsA400) {
    to_topic();
    route("PUT", "/events", TopicTarget{.topic = "events", .forwarded = {}}).key.use =
        KeyUse::forbidden;
    EXPECT_EQ(type(send("POST", "/events", {})), "400 key-missing");
    EXPECT_EQ(type(send("POST", "/events", {{"Idempotency-Key", "a b"}})), "400 key-malformed");
    EXPECT_EQ(type(send("PUT", "/events", {{"Idempotency-Key", "a"}})), "400 key-not-expected");
    EXPECT_TRUE(topics_.records.empty());
    EXPECT_EQ(send("PUT", "/events", {}).status, 202);
    EXPECT_EQ(topics_.records[0].key, std::nullopt);
}

TEST_F(FrontDoorTest, TheKeyOfAWebhookIsInItsBody) {
    to_topic().key_field = "/data/id";
    EXPECT_EQ(send("POST", "/events", {}, R"({"data":{"id":"evt_1"}})").status, 202);
    EXPECT_EQ(send("POST", "/events", {}, R"({"data":{"id":42}})").status, 202);
    EXPECT_EQ(topics_.records[0].key, "evt_1");
    EXPECT_EQ(topics_.records[1].key, "42");
    for (const char* body : {"", "[]", R"({"data":{}})", R"({"data":{"id":null}})"}) {
        EXPECT_EQ(type(send("POST", "/events", {}, body)), "400 key-missing") << body;
    }
    const HttpResponse empty = send("POST", "/events", {}, R"({"data":{"id":""}})");
    EXPECT_EQ(type(empty), "400 key-malformed");
    EXPECT_THAT(empty.body, HasSubstr("The key at /data/id must have 1 to 255 bytes."));
}

TEST_F(FrontDoorTest, ANumberBeyond64BitsIsAKeyAsItIsWritten) {
    to_topic().key_field = "/id";
    for (const char* number : {"18446744073709551616", "123456789012345678901234",
                               "123456789012345678901235", "-123456789012345678901234"}) {
        const std::string body = std::string(R"({"id": )") + number + " }";
        EXPECT_EQ(send("POST", "/events", {}, body).status, 202);
        EXPECT_EQ(topics_.records.back().key, number);
    }
}

// Without a key, it would be carried out each time that it is sent.
TEST_F(FrontDoorTest, AFieldThatIsNoKeyIsNotAnAbsentOne) {
    RouteOptions& events = to_topic();
    events.key_field = "/id";
    events.key.use = KeyUse::optional;
    for (const char* value : {R"(["a"])", R"({"a":1})", "true", "1.5", "1e30",
                              R"(123456789012345678901234,"id":5e20)"}) {
        const std::string body = std::string(R"({"id":)") + value + "}";
        EXPECT_EQ(type(send("POST", "/events", {}, body)), "400 key-malformed") << body;
    }
    // What the parser refuses as a whole.
    for (const char* body : {R"({"id":"k","n":1e400})", R"({"id":"k","n":"\ud83d"})",
                             "{\"id\":\"k\",\"n\":\"\xff\"}", R"({"id":"k")"}) {
        EXPECT_EQ(type(send("POST", "/events", {}, body)), "400 key-malformed") << body;
    }
    EXPECT_TRUE(topics_.records.empty());
    EXPECT_EQ(send("POST", "/events", {}, R"({"id":null})").status, 202);
    EXPECT_EQ(topics_.records.at(0).key, std::nullopt);
}

TEST_F(FrontDoorTest, AKeyInTheHeaderIsNotExpectedWhereTheBodyHasIt) {
    to_topic().key_field = "/id";
    const std::string body = R"({"id":"evt_1"})";
    const HttpResponse refused = send("POST", "/events", {{"Idempotency-Key", "a"}}, body);
    EXPECT_EQ(type(refused), "400 key-not-expected");
    EXPECT_THAT(refused.body, HasSubstr("The key is in the body, at /id."));
    EXPECT_TRUE(topics_.records.empty());
    EXPECT_EQ(send("POST", "/events", {}, body).status, 202);
}

// The answer to a wrong signature says nothing of the body, not even that it has no key.
TEST_F(FrontDoorTest, TheSignatureIsVerifiedBeforeAnythingElse) {
    RouteOptions& events = to_topic();
    events.key_field = "/id";
    events.signature =
        SignatureOptions{.scheme = SignatureOptions::Scheme::github, .secrets = {"secret"}};
    const HttpResponse unsigned_one = send("POST", "/events", {}, "no json");
    EXPECT_EQ(type(unsigned_one), "401 signature-refused");
    EXPECT_EQ(only_value(unsigned_one.headers, "WWW-Authenticate"), "Signature");
    const std::string body = R"({"id":"evt_1"})";
    const auto signed_with = [&](const std::string& secret) {
        return send("POST", "/events",
                    {{"X-Hub-Signature-256", "sha256=" + hmac_sha256(secret, body)}}, body);
    };
    EXPECT_EQ(type(signed_with("other")), "401 signature-refused");
    EXPECT_TRUE(topics_.records.empty());
    EXPECT_EQ(signed_with("secret").status, 202);
}

TEST_F(FrontDoorTest, ARequestWithoutItsTenantIsRefused) {
    to_sink().tenant = {TenantSource::Kind::header, "X-Tenant"};
    const HttpHeaders key{{"Idempotency-Key", "a"}};
    EXPECT_EQ(type(send("POST", "/orders/1", key)), "400 tenant-missing");
    EXPECT_EQ(type(send("POST", "/orders/1", {{"Idempotency-Key", "a"}, {"X-Tenant", ""}})),
              "400 tenant-missing");
    send("POST", "/orders/1", {{"Idempotency-Key", "a"}, {"X-Tenant", "one"}});
    send("POST", "/orders/1", {{"Idempotency-Key", "a"}, {"X-Tenant", "two"}});
    ASSERT_EQ(keyed_.requests.size(), 2U);
    EXPECT_EQ(keyed_.requests[0].tenant, "one");
    EXPECT_NE(keyed_.requests[0].digest, keyed_.requests[1].digest);
}

TEST_F(FrontDoorTest, TheKeyIsOfTheRouteAndTheFingerprintOfTheRequest) {
    to_sink();
    route("POST", "/payments", SinkTarget{});
    const HttpHeaders key{{"Idempotency-Key", "a"}};
    for (const char* target : {"/orders/1", "/orders/1", "/orders/2", "/orders/1?x", "/payments"}) {
        EXPECT_EQ(send("POST", target, key).status, 201);
    }
    send("POST", "/orders/1", {{"Idempotency-Key", "\"a\""}}, "{ }");
    const auto& requests = keyed_.requests;
    ASSERT_EQ(requests.size(), 6U);
    EXPECT_EQ(requests[0].digest, requests[1].digest);
    EXPECT_EQ(requests[0].fingerprint, requests[1].fingerprint);
    for (const int other : {2, 3, 5}) {
        EXPECT_EQ(requests[0].digest, requests[other].digest);
        EXPECT_NE(requests[0].fingerprint, requests[other].fingerprint) << other;
    }
    EXPECT_NE(requests[0].digest, requests[4].digest);
    EXPECT_THAT(requests[2].parameters, ElementsAre(Pair("id", "2")));
}

// What the body's fields are is another's to say: here its first character.
TEST_F(FrontDoorTest, AFingerprintOfFieldsIsOfThemAndOfTheTarget) {
    to_sink().fingerprint_fields = {"/a"};
    fields_ = [](std::size_t, std::string_view body) -> std::variant<Digest, std::string> {
        if (body.empty()) return "it is empty";
        return digest_of_bytes(body.substr(0, 1));
    };
    const HttpHeaders key{{"Idempotency-Key", "a"}};
    send("POST", "/orders/1", key, "1 one");
    send("POST", "/orders/1", key, "1 other");
    send("POST", "/orders/1", key, "2 one");
    send("POST", "/orders/2", key, "1 one");
    const auto& requests = keyed_.requests;
    ASSERT_EQ(requests.size(), 4U);
    EXPECT_EQ(requests[0].fingerprint, requests[1].fingerprint);
    EXPECT_NE(requests[0].fingerprint, requests[2].fingerprint);
    EXPECT_NE(requests[0].fingerprint, requests[3].fingerprint);
    const HttpResponse refused = send("POST", "/orders/1", key, "");
    EXPECT_EQ(type(refused), "400 malformed-request");
    EXPECT_THAT(refused.body, HasSubstr("it is empty"));
    EXPECT_EQ(requests.size(), 4U) << "nothing of it was claimed";
}

TEST_F(FrontDoorTest, AnItemWithoutItsFieldsIsRefusedAlone) {
    route("POST", "/bulk", SinkTarget{.bulk = true}).fingerprint_fields = {"/a"};
    fields_ = [](std::size_t, std::string_view body) -> std::variant<Digest, std::string> {
        if (body == "1") return "it is 1";
        return digest_of_bytes(body);
    };
    const HttpResponse response =
        send("POST", "/bulk", {}, R"([{"key":"a","body":1},{"key":"b","body":2}])");
    const nlohmann::json answers = nlohmann::json::parse(response.body);
    EXPECT_EQ(answers.at(0).at("status"), 400);
    EXPECT_EQ(answers.at(1).at("status"), 201);
    EXPECT_EQ(keyed_.requests.size(), 1U);
}

TEST_F(FrontDoorTest, WithoutAKeyEachRequestIsItsOwn) {
    to_sink().key.use = KeyUse::optional;
    send("POST", "/orders/1", {});
    send("POST", "/orders/1", {});
    EXPECT_NE(keyed_.requests[0].digest, keyed_.requests[1].digest);
    EXPECT_EQ(keyed_.requests[0].fingerprint, std::nullopt);
}

TEST_F(FrontDoorTest, WhatTheSinkSaysIsTheAnswer) {
    to_sink();
    const HttpHeaders key{{"Idempotency-Key", "a"}};
    keyed_.outcome = KeyedAnswer{.state = KeyState::replayed, .result = {.status = 201}};
    const HttpResponse replayed = send("POST", "/orders/1", key);
    EXPECT_EQ(only_value(replayed.headers, "Idempotent-Replayed"), "true");
    EXPECT_EQ(values_of(replayed.headers, "Idempotency-Key").size(), 1U);
    keyed_.outcome = KeyedAnswer{.state = KeyState::in_flight};
    EXPECT_EQ(type(send("POST", "/orders/1", key)), "409 key-in-flight");
    keyed_.outcome = KeyedAnswer{.state = KeyState::conflict};
    EXPECT_EQ(type(send("POST", "/orders/1", key)), "422 key-reused");
    keyed_.outcome = Problem{.kind = ProblemKind::rejected};
    EXPECT_EQ(type(send("POST", "/orders/1", key)), "422 rejected");
}

TEST_F(FrontDoorTest, EachItemOfABulkCountsForItsOwnKeysRate) {
    route("POST", "/bulk", SinkTarget{.bulk = true}).key_rate = RateLimit{0.001, 2};
    const auto states = [&](const std::string& body) {
        std::vector<int> all;
        const HttpResponse response = send("POST", "/bulk", {}, body);
        EXPECT_EQ(response.status, 207);
        for (const auto& answer : nlohmann::json::parse(response.body)) {
            all.push_back(answer.at("status"));
        }
        return all;
    };
    const std::string item = R"({"key":"a","body":1})";
    EXPECT_THAT(states("[" + item + R"(,{"key":"b","body":1}])"), ElementsAre(201, 201));
    EXPECT_THAT(states("[" + item + "," + item + R"(,{"key":"b","body":1}])"),
                ElementsAre(201, 429, 201));
    EXPECT_EQ(keyed_.requests.size(), 4U) << "what is refused is not carried out";
    EXPECT_THAT(states("[" + item + "]"), ElementsAre(429));
}

TEST_F(FrontDoorTest, ABulkHasAKeyAndAnAnswerForEachItem) {
    route("POST", "/bulk", SinkTarget{.bulk = true});
    const HttpResponse response =
        send("POST", "/bulk", {},
             R"([{"key":"a","body":{"n":1}},{"body":2},{"key":"b","body":{"n":1}}])");
    EXPECT_EQ(response.status, 207);
    const auto answers = nlohmann::json::parse(response.body);
    ASSERT_EQ(answers.size(), 3U);
    EXPECT_EQ(answers[0].at("status"), 201);
    EXPECT_EQ(answers[1].at("body").at("type"), "/onceward/problems/key-missing");
    EXPECT_EQ(answers[1].at("body").at("detail"), "Each item needs a member `key`.");
    EXPECT_EQ(answers[2].at("key"), "b");
    ASSERT_EQ(keyed_.requests.size(), 2U);
    EXPECT_EQ(keyed_.requests[0].request.body, R"({"n":1})");
    EXPECT_EQ(keyed_.requests[0].fingerprint, keyed_.requests[1].fingerprint);
    EXPECT_NE(keyed_.requests[0].digest, keyed_.requests[1].digest);
}

TEST_F(FrontDoorTest, TheAnswerOfABulkHasABoundWhateverIsStoredForItsItems) {
    route("POST", "/bulk", SinkTarget{.bulk = true});
    const std::string stored = '"' + std::string(65'534, 'x') + '"';
    keyed_.outcome = KeyedAnswer{.result = {.status = 201, .body = stored}};
    std::string body;
    for (int i = 0; i < 100; ++i) {
        body += (i == 0 ? R"([{"key":"k)" : R"(,{"key":"k)") + std::to_string(i) + R"(","body":1})";
    }
    const HttpResponse response = send("POST", "/bulk", {}, body + "]");
    EXPECT_LT(response.body.size(), most_bulk_bytes + 10'000);
    const auto answers = nlohmann::json::parse(response.body);
    ASSERT_EQ(answers.size(), 100U);
    // The sinks answer the last item first.
    EXPECT_EQ(answers[36].at("body"), std::string(65'534, 'x'));
    for (const std::size_t left_out : {35U, 0U}) {
        EXPECT_EQ(answers[left_out].at("status"), 201);
        EXPECT_EQ(answers[left_out].at("body_left_out"), true);
        EXPECT_FALSE(answers[left_out].contains("body"));
    }
}

TEST_F(FrontDoorTest, WhatIsNoBulkIsRefusedAsAWhole) {
    route("POST", "/bulk", SinkTarget{.bulk = true});
    EXPECT_EQ(type(send("POST", "/bulk", {}, "{}")), "400 malformed-request");
    const HttpResponse refused =
        send("POST", "/bulk", {{"Idempotency-Key", "a"}}, R"([{"key":"a","body":1}])");
    EXPECT_EQ(type(refused), "400 key-not-expected");
    EXPECT_THAT(refused.body, HasSubstr("The keys are in the body: each item's `key`."));
    EXPECT_EQ(send("POST", "/bulk", {}, R"([{"body":1}])").status, 207);
    EXPECT_TRUE(keyed_.requests.empty());
}

TEST_F(FrontDoorTest, EachItemOfABulkCountsForItsTenantsRate) {
    route("POST", "/bulk", SinkTarget{.bulk = true}).tenant_rate = RateLimit{0.001, 2};
    const std::string body =
        R"([{"key":"a","body":{}},{"key":"b","body":{}},{"key":"c","body":{}}])";
    EXPECT_EQ(send("POST", "/bulk", {}, body).status, 207);
    EXPECT_EQ(keyed_.requests.size(), 2U);
    EXPECT_EQ(type(send("POST", "/bulk", {}, body)), "429 too-many-requests");
}

TEST_F(FrontDoorTest, AKeyThatComesTooOftenTakesNothingOfItsTenants) {
    RouteOptions& orders = to_sink();
    orders.tenant_rate = RateLimit{.per_second = 0.001, .burst = 2};
    orders.key_rate = RateLimit{.per_second = 0.001, .burst = 1};
    EXPECT_EQ(send("POST", "/orders/7", {{"Idempotency-Key", "hot"}}).status, 201);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(send("POST", "/orders/7", {{"Idempotency-Key", "hot"}}).status, 429);
    }
    EXPECT_EQ(send("POST", "/orders/7", {{"Idempotency-Key", "other"}}).status, 201);
}

TEST_F(FrontDoorTest, ATenantAndAKeyThatComeTooOftenAreA429) {
    RouteOptions& orders = to_sink();
    orders.tenant = {TenantSource::Kind::header, "T"};
    orders.tenant_rate = RateLimit{.per_second = 0.01, .burst = 2};
    orders.key_rate = RateLimit{.per_second = 0.01, .burst = 1};
    const auto ask = [&](const std::string& tenant, const std::string& key) {
        return send("POST", "/orders/1", {{"T", tenant}, {"Idempotency-Key", key}});
    };
    EXPECT_EQ(ask("one", "a").status, 201);
    EXPECT_EQ(type(ask("one", "a")), "429 too-many-requests");
    EXPECT_EQ(ask("two", "a").status, 201);
    EXPECT_EQ(ask("one", "b").status, 201);
    const HttpResponse refused = ask("one", "c");
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(only_value(refused.headers, "Retry-After"), "100");
}

}  // namespace
}  // namespace onceward
