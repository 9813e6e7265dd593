// Whom a route to a table believes, through the program's own parts with a real server: bearer
// tokens against a key set that an issuer serves, and a provider's signature with its time.

#include <gmock/gmock.h>

#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>

#include "cli/composition/gateway_options.h"
#include "cli/configuration/load.h"
#include "cli/process/serve_routes.h"
#include "gateway/checks/signature.h"
#include "tests/integration/gateway/raw_client.h"
#include "tests/support/certificates.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres.h"
#include "tests/support/recording_server.h"
#include "tests/support/unique.h"
#include "tests/unit/gateway/signing_key.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;
using test::SigningKey;
using testing::HasSubstr;

std::int64_t seconds_since_1970() {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

class TrustedRouteTest : public ::testing::Test {
  protected:
    void serve() {
        const std::string columns = "      sink: {table: " + table_ + ", columns: {id: ";
        const std::string text =
            "group: shop\nkafka: {bootstrap_servers: '127.0.0.1:1'}\npostgres: {dsn: '" +
            schema_.worker().dsn.reveal() + "', schema: " + schema_.name() +
            "}\nhttp:\n  listen: 127.0.0.1:0\n  tokens: {jwks: '" + issuer_.url() +
            "', issuer: 'https://issuer.example', audiences: [shop]}\n  routes:\n"
            "    - method: POST\n      path: /orders/{id}\n      tenant: {claim: org}\n" +
            columns +
            "{header: '{id}'}, amount: /amount}}\n"
            "    - method: POST\n      path: /limited/{id}\n      tenant: {claim: org}\n"
            "      rate: {tenant: 0.001, tenant_burst: 1}\n" +
            columns +
            "{header: '{id}'}, amount: /amount}}\n"
            "    - method: POST\n      path: /owned/{id}\n      tenant: {claim: org}\n" +
            columns +
            "{header: onceward-tenant}, amount: /amount}}\n"
            "    - method: POST\n      path: /unowned\n      token: none\n" +
            columns +
            "{header: onceward-tenant}, amount: /amount}}\n"
            "    - method: POST\n      path: /webhooks\n      key: {field: /id}\n"
            "      signature: {scheme: stripe, secret: canary-secret, tolerance: 5m}\n" +
            columns +
            "/id, amount: /amount}}\n"
            "    - method: POST\n      path: /signed/{id}\n"
            "      signature: {scheme: hmac, secret: canary-new, previous_secret: canary-old,\n"
            "                  header: X-Shop-Signature, time_header: X-Shop-Time}\n" +
            columns + "{header: '{id}'}, amount: /amount}}\n";
        const LoadResult loaded = load_configuration_text(text, "test.yaml");
        for (const Finding& finding : loaded.findings) ADD_FAILURE() << finding.message;
        gateway_ = std::make_unique<GatewayRun>(loaded.configuration);
    }
    void publish(const SigningKey& key) {
        const std::lock_guard lock(mutex_);
        published_ = {.status = 200, .body = test::key_set({key.public_part()})};
    }
    void publish(RecordedAnswer answer) {
        const std::lock_guard lock(mutex_);
        published_ = std::move(answer);
    }
    static std::string token(const SigningKey& key, const std::string& tenant,
                             const std::string& audience = "shop") {
        return key.sign({{"iss", "https://issuer.example"},
                         {"aud", audience},
                         {"org", tenant},
                         {"exp", seconds_since_1970() + 600}},
                        "ES256");
    }
    RawResponse post(const std::string& path, const std::string& token, const std::string& body,
                     const std::string& headers = "") {
        const std::string authorization =
            token.empty() ? "" : "Authorization: Bearer " + token + "\r\n";
        RawClient client(gateway_->port());
        return client.ask("POST", path, "Idempotency-Key: k\r\n" + authorization + headers, body)
            .value();
    }
    // As Stripe signs it at that time.
    RawResponse deliver(const std::string& body, std::int64_t at, const std::string& secret) {
        const std::string time = std::to_string(at);
        RawClient client(gateway_->port());
        return client
            .ask("POST", "/webhooks",
                 "Stripe-Signature: t=" + time + ",v1=" + hmac_sha256(secret, time + "." + body) +
                     "\r\n",
                 body)
            .value();
    }
    // Under its id as the key, signed in the headers that the route names.
    RawResponse send_signed(const std::string& id, std::int64_t at, const std::string& secret) {
        const std::string time = std::to_string(at), body = R"({"amount":4})";
        RawClient client(gateway_->port());
        return client
            .ask("POST", "/signed/" + id,
                 "Idempotency-Key: " + id + "\r\nX-Shop-Time: " + time +
                     "\r\nX-Shop-Signature: " + hmac_sha256(secret, time + "." + body) + "\r\n",
                 body)
            .value();
    }
    static std::string refusal(const RawResponse& response) {
        const std::string whole = nlohmann::json::parse(response.body).at("type");
        return std::to_string(response.status) + " " + whole.substr(whole.find_last_of(":/") + 1);
    }
    std::string rows() {
        return schema_.database().value(
            "SELECT coalesce(string_agg(concat_ws('|', id, amount), ' ' ORDER BY id, amount), '') "
            "FROM " +
            table_);
    }

    FreshSchema schema_;
    std::string table_ = schema_.user_table("orders", "id text, amount numeric");
    std::mutex mutex_;
    RecordedAnswer published_{.status = 500};
    RecordingServer issuer_{[this](const RecordedCall&, int) {
        const std::lock_guard lock(mutex_);
        return published_;
    }};
    std::unique_ptr<GatewayRun> gateway_;
};

TEST_F(TrustedRouteTest, OneKeyOfTwoTenantsIsTwoEffects) {
    const SigningKey key = SigningKey::p256("one");
    publish(key);
    serve();
    EXPECT_EQ(post("/orders/7", token(key, "acme"), R"({"amount":1})").status, 204);
    EXPECT_EQ(post("/orders/7", token(key, "other"), R"({"amount":2})").status, 204);
    const RawResponse again = post("/orders/7", token(key, "acme"), R"({"amount":1})");
    EXPECT_EQ(again.status, 204);
    EXPECT_EQ(again.headers.at("idempotent-replayed"), "true");
    EXPECT_EQ(rows(), "7|1 7|2");
}

TEST_F(TrustedRouteTest, ARowHasTheVerifiedTenantAndNeverTheOneThatAClientNames) {
    const SigningKey key = SigningKey::p256("one");
    publish(key);
    serve();
    const std::string forged = "Onceward-Tenant: other\r\nonceward_tenant: other\r\n";
    const std::string mine = token(key, "acme");
    EXPECT_EQ(post("/owned/7", mine, R"({"amount":1})", forged).status, 204);
    EXPECT_EQ(rows(), "acme|1");
    EXPECT_EQ(post("/unowned", mine, R"({"amount":2})", forged).status, 204);
    EXPECT_EQ(rows(), "acme|1 2") << "a route without tenants took the client's word";
}

TEST_F(TrustedRouteTest, WhatTheIssuerDidNotSignForThisServiceIsA401AndHasNoEffect) {
    const SigningKey key = SigningKey::p256("one");
    publish(key);
    serve();
    const std::string body = R"({"amount":1})";
    const SigningKey impostor = SigningKey::p256("one");
    EXPECT_EQ(refusal(post("/orders/7", token(impostor, "acme"), body)), "401 token-refused");
    EXPECT_EQ(refusal(post("/orders/7", token(key, "acme", "else"), body)), "401 token-refused");
    EXPECT_EQ(refusal(post("/orders/7", "", body)), "401 token-missing");
    EXPECT_EQ(rows(), "");
    EXPECT_EQ(post("/orders/7", token(key, "acme"), body).status, 204) << "the key is free";
}

// Not before ten seconds after the fetch at the start.
TEST_F(TrustedRouteTest, AKeyThatTheIssuerRotatedIsFetchedAndTheOldOneIsRefused) {
    const SigningKey old_key = SigningKey::p256("one"), new_key = SigningKey::p256("two");
    publish(old_key);
    serve();
    ASSERT_EQ(post("/orders/7", token(old_key, "acme"), R"({"amount":1})").status, 204);
    publish(new_key);
    EXPECT_TRUE(eventually(60s, [&] {
        return post("/orders/8", token(new_key, "other"), R"({"amount":2})").status == 204;
    }));
    const auto ask_with_old = [&] {
        return refusal(post("/orders/7", token(old_key, "acme"), R"({"amount":1})"));
    };
    EXPECT_EQ(ask_with_old(), "503 unavailable") << "the keys cannot be fetched again yet";
    EXPECT_TRUE(eventually(60s, [&] { return ask_with_old() == "401 token-refused"; }));
    EXPECT_EQ(rows(), "7|1 8|2");
}

// A client takes a 401 for final, and the issuer may have the key.
TEST_F(TrustedRouteTest, ATokenOfAnUnknownKeyIsA503WhileTheIssuerIsAway) {
    const SigningKey old_key = SigningKey::p256("one"), new_key = SigningKey::p256("two");
    publish(old_key);
    serve();
    ASSERT_EQ(post("/orders/7", token(old_key, "acme"), R"({"amount":1})").status, 204);
    publish(RecordedAnswer{.status = 500});
    RawResponse refused;
    EXPECT_TRUE(eventually(60s, [&] {
        refused = post("/orders/8", token(new_key, "other"), R"({"amount":2})");
        return refusal(refused) == "503 unavailable" &&
               refused.body.find("cannot be fetched now") != std::string::npos;
    }));
    EXPECT_TRUE(refused.headers.contains("retry-after"));
    EXPECT_EQ(post("/orders/7", token(old_key, "acme"), R"({"amount":1})").status, 204);
    EXPECT_EQ(rows(), "7|1");
}

TEST_F(TrustedRouteTest, AKeySetOfAPrivateAuthorityIsTakenWhereItIsNamed) {
    const auto folder = std::filesystem::path(testing::TempDir()) / unique_name("authority");
    std::filesystem::create_directories(folder);
    write_certificates(folder, false);
    const RecordingServer issuer(
        [](const RecordedCall&, int) { return RecordedAnswer{.status = 200, .body = "keys"}; },
        folder);
    EXPECT_THROW(fetch_key_set(issuer.url()), std::runtime_error);
    EXPECT_EQ(fetch_key_set(issuer.url(), (folder / "ca.pem").string()), "keys");
    std::filesystem::remove_all(folder);
}

TEST_F(TrustedRouteTest, WithoutTheIssuersKeysNobodyIsBelieved) {
    serve();
    const std::string mine = token(SigningKey::p256("one"), "acme");
    EXPECT_EQ(refusal(post("/orders/7", mine, R"({"amount":1})")), "503 unavailable");
    EXPECT_EQ(rows(), "");
}

TEST_F(TrustedRouteTest, ATenantsRateIsItsOwn) {
    const SigningKey key = SigningKey::p256("one");
    publish(key);
    serve();
    const std::string body = R"({"amount":1})";
    EXPECT_EQ(post("/limited/7", token(key, "acme"), body).status, 204);
    const RawResponse refused = post("/limited/7", token(key, "acme"), body);
    EXPECT_EQ(refusal(refused), "429 too-many-requests");
    EXPECT_TRUE(refused.headers.contains("retry-after"));
    EXPECT_EQ(post("/limited/7", token(key, "other"), body).status, 204);
    EXPECT_EQ(rows(), "7|1 7|1");
}

// Stripe signs each of its tries again, with the time of the try; the event's id stays.
TEST_F(TrustedRouteTest, AStripeEventIsOneEffectAndCountsNearItsSignedTimeAlone) {
    serve();
    const std::string event = R"({"id":"evt_1","amount":3})";
    const std::int64_t now = seconds_since_1970();
    for (const std::int64_t at : {now - 3600, now + 3600}) {
        const RawResponse refused = deliver(event, at, "canary-secret");
        EXPECT_EQ(refusal(refused), "401 signature-refused");
        EXPECT_THAT(refused.body, HasSubstr("outside the tolerance"));
    }
    EXPECT_EQ(refusal(deliver(event, now, "other")), "401 signature-refused");
    EXPECT_EQ(rows(), "");
    EXPECT_EQ(deliver(event, now - 120, "canary-secret").status, 204);
    const RawResponse again = deliver(event, now, "canary-secret");
    EXPECT_EQ(again.status, 204);
    EXPECT_EQ(again.headers.at("idempotent-replayed"), "true");
    EXPECT_EQ(rows(), "evt_1|3");
}

TEST_F(TrustedRouteTest, AnHmacOfAnotherSecretOrTimeOrNoneIsA401AndHasNoEffect) {
    serve();
    const std::int64_t now = seconds_since_1970();
    EXPECT_EQ(refusal(send_signed("a", now, "other")), "401 signature-refused");
    for (const std::string secret : {"canary-new", "canary-old"}) {
        for (const std::int64_t at : {now - 3600, now + 3600}) {
            const RawResponse refused = send_signed("a", at, secret);
            EXPECT_EQ(refusal(refused), "401 signature-refused");
            EXPECT_THAT(refused.body, HasSubstr("outside the tolerance"));
        }
    }
    const std::string body = R"({"amount":4})";
    EXPECT_EQ(refusal(post("/signed/a", "", body)), "401 signature-refused");
    const std::string timeless = "X-Shop-Signature: " + hmac_sha256("canary-new", body) + "\r\n";
    EXPECT_EQ(refusal(post("/signed/a", "", body, timeless)), "401 signature-refused");
    EXPECT_EQ(rows(), "");
    EXPECT_EQ(send_signed("a", now, "canary-new").status, 204) << "the key is not free";
}

// While its secret is being changed a provider signs with the one or with the other.
TEST_F(TrustedRouteTest, AnHmacOfEitherSecretIsGoodAndEachKeyIsOneEffect) {
    serve();
    const std::int64_t now = seconds_since_1970();
    for (const bool again : {false, true}) {
        const std::string of_a = again ? "canary-old" : "canary-new";
        const std::string of_b = again ? "canary-new" : "canary-old";
        for (const auto& [id, secret] : {std::pair("a", of_a), std::pair("b", of_b)}) {
            const RawResponse response = send_signed(id, now, secret);
            EXPECT_EQ(response.status, 204) << response.body;
            EXPECT_EQ(response.headers.contains("idempotent-replayed"), again);
        }
    }
    EXPECT_EQ(rows(), "a|4 b|4");
}

TEST_F(TrustedRouteTest, AKeySetIsTakenFromA200OrAFileAndFromNothingElse) {
    publish(RecordedAnswer{.status = 200, .body = "keys"});
    EXPECT_EQ(fetch_key_set(issuer_.url()), "keys");
    const RecordedAnswer refused[] = {
        {.status = 404, .body = "keys"},
        {.status = 302, .headers = {{"Location", issuer_.url()}}, .body = "keys"},
        {.status = 200, .body = std::string((1 << 20) + 1, ' ')}};
    for (const RecordedAnswer& answer : refused) {
        publish(answer);
        EXPECT_THROW(fetch_key_set(issuer_.url()), std::runtime_error) << answer.status;
    }
    EXPECT_EQ(issuer_.calls().size(), 4U) << "a redirect was followed";
    const auto file = std::filesystem::path(testing::TempDir()) / unique_name("keys");
    EXPECT_THROW(fetch_key_set(file.string()), std::runtime_error);
    std::ofstream(file) << "of a file";
    EXPECT_EQ(fetch_key_set(file.string()), "of a file");
    EXPECT_THROW(fetch_key_set("file://" + file.string()), std::runtime_error);
    std::filesystem::remove(file);
}

}  // namespace
}  // namespace onceward::support
