// Routes to a table through the program's own parts, with a real server: what a request becomes as
// a row, and what its repeats get.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/configuration/load.h"
#include "cli/process/serve_routes.h"
#include "tests/integration/gateway/raw_client.h"
#include "tests/support/postgres.h"
#include "tests/support/unique.h"

namespace onceward::support {
namespace {

class SinkRouteTest : public ::testing::Test {
  protected:
    SinkRouteTest() {
        table_ = schema_.user_table("orders", "id text, amount numeric, tenant text, kind text");
        const std::string sink =
            "      tenant: {header: X-Tenant}\n      sink:\n        table: " + table_ +
            "\n        columns: {id: {header: '{id}'}, amount: /amount, "
            "tenant: {header: x-tenant}, kind: {header: x-kind}}\n"
            "      ledger: {name: shop/orders}\n";
        const std::string text =
            "group: shop\nkafka: {bootstrap_servers: '127.0.0.1:1'}\npostgres: {dsn: '" +
            schema_.worker().dsn.reveal() + "', schema: " + schema_.name() +
            "}\nhttp:\n  listen: 127.0.0.1:0\n  routes:\n"
            "    - method: POST\n      path: /orders/{id}\n      status_path: /order-keys\n" +
            sink + "    - method: POST\n      path: /bulk/{id}\n      body: bulk\n" + sink +
            "    - method: POST\n      path: /patient/{id}\n      wait: 30s\n" + sink +
            "    - method: POST\n      path: /pay/{id}\n      sink: {function: " + pay_function() +
            ", columns: {id: {header: '{id}'}, amount: /amount}}\n" +
            "    - method: POST\n      path: /minted/{id}\n"
            "      key: {minted_at: {header: X-Made}}\n" +
            sink +
            "    - method: POST\n      path: /seven/{id}\n      body: bulk\n"
            "      key: {minted_at: uuid7}\n" + sink +
            "    - method: POST\n      path: /events\n      format: raw\n"
            "      sink: {outbox: {topic: events}}\n";
        const LoadResult loaded = load_configuration_text(text, "test.yaml");
        for (const Finding& finding : loaded.findings) ADD_FAILURE() << finding.message;
        gateway_ = std::make_unique<GatewayRun>(loaded.configuration);
    }
    // Pays into the same table; what is below zero is refused for good.
    std::string pay_function() {
        const std::string name = schema_.name() + ".pay";
        schema_.database().execute(
            "CREATE FUNCTION " + name +
            "(requests jsonb[]) RETURNS TABLE (ordinality bigint, result_status integer, "
            "result_failed boolean, result_headers jsonb, paid numeric) LANGUAGE plpgsql AS $$ "
            "BEGIN INSERT INTO " +
            table_ +
            " SELECT r->>'id', (r->>'amount')::numeric FROM unnest(requests) r WHERE "
            "(r->>'amount')::numeric >= 0; RETURN QUERY SELECT o, CASE WHEN "
            "(r->>'amount')::numeric < 0 THEN 402 ELSE 201 END, (r->>'amount')::numeric < 0, "
            "jsonb_build_object('location', '/payments/' || (r->>'id'), 'set-cookie', 'x'), "
            "(r->>'amount')::numeric FROM unnest(requests) WITH ORDINALITY AS t (r, o); END $$");
        return name;
    }
    RawResponse post(const std::string& path, const std::string& key, const std::string& body,
                     const std::string& tenant = "acme") {
        RawClient client(gateway_->port());
        const std::string header = key.empty() ? "" : "Idempotency-Key: " + key + "\r\n";
        return client
            .ask("POST", path, header + "X-Kind: made\r\nX-Tenant: " + tenant + "\r\n", body)
            .value();
    }
    std::string rows() {
        return schema_.database().value(
            "SELECT coalesce(string_agg(concat_ws('|', id, amount, tenant, kind), ' ' "
            "ORDER BY id, amount), '') FROM " +
            table_);
    }

    FreshSchema schema_;
    std::string table_;
    std::unique_ptr<GatewayRun> gateway_;
};

TEST_F(SinkRouteTest, ARequestIsARowOnceAndItsRepeatsSayTheSame) {
    const RawResponse first = post("/orders/7", "k", R"({"amount":1.50})");
    EXPECT_EQ(first.status, 204);
    EXPECT_FALSE(first.headers.contains("idempotent-replayed"));
    const RawResponse again = post("/orders/7", "\"k\"", R"({"amount":1.50})");
    EXPECT_EQ(again.status, 204);
    EXPECT_EQ(again.headers.at("idempotent-replayed"), "true");
    EXPECT_EQ(again.headers.at("idempotency-key"), "\"k\"");
    EXPECT_EQ(post("/orders/7", "k", R"({"amount":2})").status, 422);
    EXPECT_EQ(post("/orders/8", "k", R"({"amount":1.50})").status, 422);
    EXPECT_EQ(post("/orders/9", "k", R"({"amount":3})", "other").status, 204);
    EXPECT_EQ(rows(), "7|1.50|acme|made 9|3|other|made");
}

TEST_F(SinkRouteTest, WhatFitsNoRowIsA422AndHoldsNoKey) {
    EXPECT_EQ(post("/orders/7", "k", "no json").status, 422);
    testing::internal::CaptureStderr();
    const RawResponse misfit = post("/orders/7", "k", R"({"amount":"much"})");
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_NE(log.find("http.rejected"), std::string::npos) << log;
    EXPECT_NE(log.find("`amount`"), std::string::npos) << log;
    EXPECT_EQ(log.find("much"), std::string::npos) << log;
    EXPECT_EQ(misfit.status, 422);
    EXPECT_EQ(misfit.body.find("numeric"), std::string::npos) << "nothing of the inside";
    EXPECT_EQ(post("/orders/7", "k", R"({"amount":1})").status, 204);
    EXPECT_EQ(rows(), "7|1|acme|made");
}

TEST_F(SinkRouteTest, AKeyFromBeforeTheLedgersMemoryIsA412AndHoldsNoKey) {
    const auto post_at = [&](const std::string& key, const std::string& made) {
        RawClient client(gateway_->port());
        const std::string head = "Idempotency-Key: " + key + "\r\nX-Tenant: acme\r\n" + made;
        return client.ask("POST", "/minted/7", head, R"({"amount":1})").value();
    };
    const std::string old = "X-Made: 2026-01-01T00:00:00Z\r\n";
    EXPECT_EQ(post_at("a", old).status, 204) << "nothing was forgotten yet";
    EXPECT_EQ(post_at("a", "X-Made: 2026-01-01T00:00:01Z\r\n").status, 422)
        << "another time is another request";
    EXPECT_EQ(post_at("b", "").status, 400);
    EXPECT_EQ(post_at("b", "X-Made: today\r\n").status, 400);
    EXPECT_EQ(post_at("b", "X-Made: 2999-01-01T00:00:00Z\r\n").status, 400);
    schema_.database().execute("UPDATE ledgers SET memory_begins = '2026-02-01T00:00:00Z'");
    EXPECT_EQ(post_at("a", old).headers.at("idempotent-replayed"), "true");
    const RawResponse late = post_at("b", old);
    EXPECT_EQ(late.status, 412);
    EXPECT_NE(late.body.find("/onceward/problems/key-expired"), std::string::npos) << late.body;
    EXPECT_EQ(post_at("b", "X-Made: 2026-02-02T00:00:00Z\r\n").status, 204);
    EXPECT_EQ(rows(), "7|1|acme 7|1|acme");
}

TEST_F(SinkRouteTest, TheItemsOfABulkAreJudgedEachByItsKey) {
    const std::string body =
        R"([{"key":"00000000-03e8-7000-8000-000000000000","body":{"amount":1}},)"
        R"({"key":"019c2000-0000-7000-8000-000000000000","body":{"amount":2}},)"
        R"({"key":"no uuid","body":{"amount":3}}])";
    // The first request registers the ledger.
    EXPECT_EQ(post("/orders/7", "k", R"({"amount":9})").status, 204);
    schema_.database().execute("UPDATE ledgers SET memory_begins = '2026-02-01T00:00:00Z'");
    const auto answers = nlohmann::json::parse(post("/seven/7", "", body).body);
    ASSERT_EQ(answers.size(), 3U);
    EXPECT_EQ(answers[0].at("status"), 412);
    EXPECT_EQ(answers[1].at("status"), 204);
    EXPECT_EQ(answers[2].at("status"), 400);
    EXPECT_EQ(rows(), "7|2|acme|made 7|9|acme|made");
}

TEST_F(SinkRouteTest, ABulkIsARowForEachOfItsKeys) {
    const std::string body =
        R"([{"key":"a","body":{"amount":1}},{"key":"b","body":{"amount":2}},{"body":{}},)"
        R"({"key":"a","body":{"amount":1}}])";
    for (const bool again : {false, true}) {
        const RawResponse response = post("/bulk/7", "", body);
        EXPECT_EQ(response.status, 207);
        const auto answers = nlohmann::json::parse(response.body);
        ASSERT_EQ(answers.size(), 4U);
        EXPECT_EQ(answers[0].at("status"), 204);
        EXPECT_EQ(answers[0].contains("replayed"), again);
        EXPECT_EQ(answers[2].at("status"), 400);
        EXPECT_TRUE(answers[3].at("replayed"));
    }
    EXPECT_EQ(rows(), "7|1|acme|made 7|2|acme|made");
}

TEST_F(SinkRouteTest, AStopLosesNothingThatWasAnswered) {
    EXPECT_EQ(post("/orders/7", "k", R"({"amount":1})").status, 204);
    gateway_->stop(std::chrono::seconds(10));
    EXPECT_FALSE(accepts_connections(gateway_->port()));
    gateway_.reset();
    EXPECT_EQ(rows(), "7|1|acme|made");
}

// Twenty rounds of five hundred connections, each with the same key: those who wait get the stored
// answer, those who do not a 409, and there is one row.
TEST_F(SinkRouteTest, TenThousandRetriesOfAKeyOverHttpAreOneRow) {
    const std::string body = R"({"amount":1})";
    const std::string rest =
        " HTTP/1.1\r\nHost: a\r\nIdempotency-Key: hot\r\nX-Tenant: acme\r\n"
        "X-Kind: made\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
    constexpr int connections = 500, rounds = 20;
    std::vector<std::unique_ptr<RawClient>> clients;
    for (int i = 0; i < connections; ++i) {
        clients.push_back(std::make_unique<RawClient>(gateway_->port()));
    }
    for (const std::string path : {"/orders/7", "/patient/7"}) {
        int first = 0, replayed = 0, in_flight = 0;
        for (int round = 0; round < rounds; ++round) {
            for (auto& client : clients) client->send("POST " + path + rest);
            for (auto& client : clients) {
                const RawResponse response = client->receive().value();
                if (response.status == 204) {
                    ++(response.headers.contains("idempotent-replayed") ? replayed : first);
                } else {
                    EXPECT_EQ(response.status, 409);
                    EXPECT_TRUE(response.headers.contains("retry-after"));
                    ++in_flight;
                }
            }
        }
        EXPECT_EQ(first, 1) << path;
        EXPECT_EQ(first + replayed + in_flight, connections * rounds);
        EXPECT_TRUE(path != "/patient/7" || in_flight == 0) << in_flight;
    }
    EXPECT_EQ(rows(), "7|1|acme|made 7|1|acme|made");  // a row of each route
}

TEST_F(SinkRouteTest, AFunctionsRowIsTheAnswerAndIsReplayed) {
    const RawResponse first = post("/pay/7", "k", R"({"amount":5})");
    EXPECT_EQ(first.status, 201);
    EXPECT_EQ(first.headers.at("location"), "/payments/7");
    EXPECT_EQ(first.headers.at("content-type"), "application/json");
    EXPECT_EQ(nlohmann::json::parse(first.body).at("paid"), 5);
    const RawResponse again = post("/pay/7", "k", R"({"amount":5})");
    EXPECT_EQ(again.status, 201);
    EXPECT_EQ(again.body, first.body);
    EXPECT_EQ(again.headers.at("location"), "/payments/7");
    EXPECT_EQ(again.headers.at("content-type"), "application/json");
    EXPECT_EQ(again.headers.at("idempotent-replayed"), "true");
    EXPECT_EQ(rows(), "7|5");
    const RawResponse refused = post("/pay/7", "other", R"({"amount":-1})");
    EXPECT_EQ(refused.status, 402);
    EXPECT_EQ(post("/pay/7", "other", R"({"amount":-1})").headers.at("idempotent-replayed"), "true")
        << "a final failure is an answer too";
}

TEST_F(SinkRouteTest, AnOutboxTakesARequestOnce) {
    EXPECT_EQ(post("/events", "k", R"({"a":1})").status, 204);
    EXPECT_EQ(post("/events", "k", R"({"a":1})").headers.at("idempotent-replayed"), "true");
    EXPECT_EQ(schema_.database().value("SELECT topic || convert_from(payload, 'UTF8') FROM " +
                                       schema_.name() + ".outbox"),
              R"(events{"a":1})");
}

TEST_F(SinkRouteTest, AnOwnerAsksForAKeysStatus) {
    const auto status = [&](const std::string& tenant) {
        RawClient client(gateway_->port());
        return client
            .ask("GET", "/order-keys", "Idempotency-Key: k\r\nX-Tenant: " + tenant + "\r\n")
            .value();
    };
    EXPECT_EQ(status("acme").status, 404);
    EXPECT_EQ(post("/orders/7", "k", R"({"amount":1})").status, 204);
    EXPECT_EQ(status("acme").body, R"({"state":"completed","status":204})");
    EXPECT_EQ(status("other").status, 404);
}

TEST_F(SinkRouteTest, TheProcessTellsWhatItsRoutesAnsweredAndWhoLooksAfterTheirLedgers) {
    post("/orders/7", "k", R"({"amount":1})");
    post("/orders/7", "k", R"({"amount":1})");
    ProcessStatus status;
    gateway_->complete(status);
    ASSERT_EQ(status.routes.size(), 9U) << "with the status path, and one for requests of no route";
    EXPECT_EQ(status.routes[0].route, "POST /orders/{id}");
    EXPECT_EQ(status.routes[0].statuses.at(204), 2);
    EXPECT_EQ(status.routes[0].replayed, 1);
    EXPECT_EQ(status.retention.size(), 1U);
    EXPECT_EQ(status.relays.size(), 1U) << "a route has an outbox";
}

}  // namespace
}  // namespace onceward::support
