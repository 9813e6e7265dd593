// What a route's options change for those who call it, from the configuration's text to the rows in
// a real server.

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/configuration/load.h"
#include "cli/process/serve_routes.h"
#include "tests/integration/gateway/raw_client.h"
#include "tests/support/certificates.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres.h"
#include "tests/support/unique.h"

namespace onceward::support {
namespace {

class RouteOptionsTest : public ::testing::Test {
  protected:
    // A route to the table, with what is said of it.
    std::string route(const std::string& path, const std::string& more) const {
        return "    - method: POST\n      path: " + path + "\n" + more +
               "      sink: {table: " + table_ +
               ", columns: {id: {header: '{id}'}, amount: /amount}}\n";
    }
    void serve(const std::string& routes, const std::string& http = "") {
        const std::string text =
            "group: shop\nkafka: {bootstrap_servers: '127.0.0.1:1'}\npostgres: {dsn: '" +
            schema_.worker().dsn.reveal() + "', schema: " + schema_.name() +
            "}\nhttp:\n  listen: 127.0.0.1:0\n" + http + "  routes:\n" + routes;
        const LoadResult loaded = load_configuration_text(text, "test.yaml");
        for (const Finding& finding : loaded.findings) ADD_FAILURE() << finding.message;
        gateway_ = std::make_unique<GatewayRun>(loaded.configuration);
    }
    RawResponse post(const std::string& path, const std::string& headers, const std::string& body) {
        RawClient client(gateway_->port());
        return client.ask("POST", path, headers, body).value();
    }
    std::string rows() {
        return schema_.database().value(
            "SELECT coalesce(string_agg(concat_ws('|', id, amount), ' ' ORDER BY id, amount), '') "
            "FROM " +
            table_);
    }

    FreshSchema schema_;
    std::string table_ = schema_.user_table("orders", "id text, amount numeric");
    std::unique_ptr<GatewayRun> gateway_;
};

const std::string key = "Idempotency-Key: k\r\n";

bool replayed(const RawResponse& response) {
    return response.headers.contains("idempotent-replayed");
}

TEST_F(RouteOptionsTest, WithoutAFingerprintWhateverComesUnderAKeyIsARepeat) {
    serve(route("/orders/{id}", "      fingerprint: none\n"));
    EXPECT_FALSE(replayed(post("/orders/7", key, R"({"amount":1})")));
    const RawResponse other = post("/orders/8", key, R"({"amount":2})");
    EXPECT_EQ(other.status, 204);
    EXPECT_TRUE(replayed(other));
    EXPECT_EQ(rows(), "7|1");
}

TEST_F(RouteOptionsTest, AFingerprintOfFieldsTakesAnotherSpellingForARepeat) {
    serve(route("/orders/{id}", "      fingerprint: {fields: [/amount, /note]}\n"));
    EXPECT_FALSE(replayed(post("/orders/7", key, R"({"amount":1.50,"note":"a","at":1})")));
    const RawResponse again =
        post("/orders/7", key, R"({ "note": "\u0061", "at": 2, "amount": 15e-1 })");
    EXPECT_EQ(again.status, 204);
    EXPECT_TRUE(replayed(again));
    EXPECT_EQ(post("/orders/7", key, R"({"amount":2,"note":"a"})").status, 422);
    EXPECT_EQ(post("/orders/7", key, R"({"amount":1.50})").status, 422);
    EXPECT_EQ(post("/orders/8", key, R"({"amount":1.50,"note":"a"})").status, 422);
    EXPECT_EQ(post("/orders/7", key, R"({"amount":1.50,)").status, 400);
    EXPECT_EQ(post("/orders/7", key, R"({"amount":1,"amount":1.50,"note":"a"})").status, 400);
    EXPECT_EQ(rows(), "7|1.50");
}

TEST_F(RouteOptionsTest, TheReplayHeaderHasTheNameOfTheConfiguration) {
    serve(route("/orders/{id}", "      replay_header: X-Again\n"));
    EXPECT_FALSE(post("/orders/7", key, R"({"amount":1})").headers.contains("x-again"));
    const RawResponse again = post("/orders/7", key, R"({"amount":1})");
    EXPECT_EQ(again.headers.at("x-again"), "true");
    EXPECT_FALSE(replayed(again));
}

TEST_F(RouteOptionsTest, TheWindowHeaderSaysForHowLongAKeyIsKnown) {
    serve(route("/orders/{id}", "      window_header: X-Window\n      ledger: {retention: 48h}\n"));
    for (const bool again : {false, true}) {
        const RawResponse answer = post("/orders/7", key, R"({"amount":1})");
        EXPECT_EQ(replayed(answer), again);
        EXPECT_EQ(answer.headers.at("x-window"), "172800");
    }
    EXPECT_FALSE(post("/orders/7", key, R"({"amount":2})").headers.contains("x-window"))
        << "a refusal has none";
}

// The test takes the row away in a way that no product's code does, so it shows where an answer
// came from.
TEST_F(RouteOptionsTest, AnAnswerIsRememberedAndWithoutACacheItIsReadEachTime) {
    serve(route("/remembered/{id}", "") +
          route("/read/{id}", "      results: {cache: 0B}\n      ledger: {name: read}\n"));
    for (const char* path : {"/remembered/7", "/read/7"}) {
        EXPECT_EQ(post(path, key, R"({"amount":1})").status, 204);
    }
    schema_.database().execute("DELETE FROM results_1_1");
    schema_.database().execute("DELETE FROM results_2_1");
    EXPECT_TRUE(replayed(post("/remembered/7", key, R"({"amount":1})")));
    EXPECT_EQ(post("/read/7", key, R"({"amount":1})").status, 410);
}

// Forgotten by an operator, a key is carried out again, by whichever process comes first. What this
// one remembers is another execution's answer then.
TEST_F(RouteOptionsTest, ARememberedAnswerIsNotSentOnceItsKeyWasForgotten) {
    serve(route("/orders/{id}", ""));
    EXPECT_EQ(post("/orders/7", key, R"({"amount":1})").status, 204);
    EXPECT_TRUE(replayed(post("/orders/7", key, R"({"amount":1})")));
    const Digest digest = digest_of({"POST /orders/{id}", "", "header:Idempotency-Key", "k"});
    Database& database = schema_.database();
    database.execute("SELECT * FROM evict_claims(1, ARRAY[$1]::uuid[], 'a test')",
                     {uuid_text(digest)});
    // As another process does it, with another answer.
    database.execute(
        "INSERT INTO claims_1_1 (digest, fingerprint, record_offset, partition, source) "
        "VALUES ($1, NULL, 1, 0, 1)",
        {uuid_text(digest)});
    database.execute(
        "INSERT INTO results_1_1 (digest, tenant, kind, status, headers, body) VALUES "
        "($1, '', 'done', 201, '[]', 'another')",
        {uuid_text(digest)});
    const RawResponse again = post("/orders/7", key, R"({"amount":1})");
    EXPECT_TRUE(replayed(again));
    EXPECT_EQ(again.status, 201);
    EXPECT_EQ(again.body, "another");
}

TEST_F(RouteOptionsTest, WhereAKeyMayBeLeftOutEachRequestWithoutOneIsAnEffect) {
    serve(route("/orders/{id}", "      key: {use: optional}\n"));
    for (int i = 0; i < 2; ++i) {
        const RawResponse without = post("/orders/7", "", R"({"amount":1})");
        EXPECT_EQ(without.status, 204);
        EXPECT_FALSE(replayed(without));
    }
    EXPECT_FALSE(replayed(post("/orders/8", key, R"({"amount":2})")));
    EXPECT_TRUE(replayed(post("/orders/8", key, R"({"amount":2})")));
    EXPECT_EQ(rows(), "7|1 7|1 8|2");
}

TEST_F(RouteOptionsTest, WhatIsRefusedBeforeItRunsIsNotStoredUnderItsKey) {
    serve(route("/orders/{id}",
                "      tenant: {header: X-Tenant}\n      rate: {tenant: 0.2, tenant_burst: 1}\n"),
          "  limits: {body: 1KiB}\n");
    const std::string mine = key + "X-Tenant: acme\r\n";
    EXPECT_EQ(post("/orders/7", mine, std::string(2000, ' ')).status, 413);
    EXPECT_EQ(post("/orders/7", key, R"({"amount":1})").status, 400) << "whose it is";
    EXPECT_EQ(post("/orders/7", mine + "X-Tenant: other\r\n", R"({"amount":1})").status, 400);
    // One of other keys after the other until the bucket is empty, then this one.
    RawResponse last;
    for (int i = 0; i < 100 && last.status != 429; ++i) {
        const std::string other =
            "Idempotency-Key: " + std::to_string(i) + "\r\nX-Tenant: acme\r\n";
        last = post("/orders/8", other, R"({"amount":2})");
    }
    ASSERT_EQ(last.status, 429);
    RawResponse first = post("/orders/7", mine, R"({"amount":1})");
    EXPECT_EQ(first.status, 429);
    EXPECT_TRUE(eventually(std::chrono::seconds(30), [&] {
        first = post("/orders/7", mine, R"({"amount":1})");
        return first.status != 429;
    }));
    EXPECT_EQ(first.status, 204);
    EXPECT_FALSE(replayed(first));
    EXPECT_EQ(schema_.database().number("SELECT count(*) FROM " + table_ + " WHERE id = '7'"), 1);
}

// The digest is the one of explain and of the claims, so that a row leads to its claim.
TEST_F(RouteOptionsTest, AColumnHasTheKeyItsDigestAndTheDownstreamKey) {
    const std::string table =
        schema_.user_table("keyed", "id text, digest uuid, downstream uuid, note text");
    serve(
        "    - method: POST\n      path: /keyed\n      key: {use: optional}\n      sink: {table: " +
        table +
        ", columns: {id: {key: text}, digest: {key: digest}, downstream: {key: downstream}, "
        "note: /note}}\n");
    EXPECT_EQ(post("/keyed", key, R"({"note":"with"})").status, 204);
    EXPECT_EQ(post("/keyed", "", R"({"note":"without"})").status, 204);
    Database& database = schema_.database();
    const Digest digest = digest_of({"POST /keyed", "", "header:Idempotency-Key", "k"});
    EXPECT_EQ(database.value("SELECT concat_ws(' ', id, digest, downstream) FROM " + table +
                             " WHERE note = 'with'"),
              "k " + uuid_text(digest) + " " + downstream_key(digest));
    EXPECT_EQ(database.value("SELECT concat_ws(' ', id, digest, downstream) FROM " + table +
                             " WHERE note = 'without'"),
              "");
}

TEST_F(RouteOptionsTest, ItsCertificateAndItsKeyAreTheOnesOfTheConfiguration) {
    const auto folder = std::filesystem::temp_directory_path() / unique_name("onceward_tls");
    std::filesystem::create_directories(folder);
    write_certificates(folder, false);
    std::ifstream both(folder / "server.pem");
    std::ofstream chain(folder / "chain.pem"), secret(folder / "key.pem");
    bool of_key = false;
    for (std::string line; std::getline(both, line);) {
        if (line.starts_with("-----BEGIN")) of_key = line.find("KEY") != std::string::npos;
        (of_key ? secret : chain) << line << '\n';
    }
    chain.close();
    secret.close();
    serve(route("/orders/{id}", ""), "  tls: {certificate: '" + (folder / "chain.pem").string() +
                                         "', key: '" + (folder / "key.pem").string() + "'}\n");
    RawClient tls(gateway_->port(), RawClient::Over::tls);
    EXPECT_EQ(tls.ask("POST", "/orders/7", key, R"({"amount":1})")->status, 204);
    RawClient plain(gateway_->port());
    plain.send("POST /orders/8 HTTP/1.1\r\nHost: a\r\n" + key + "\r\n");
    EXPECT_FALSE(plain.receive());
    EXPECT_EQ(rows(), "7|1");
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace onceward::support
