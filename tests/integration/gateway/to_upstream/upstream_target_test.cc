// Whom an upstream's route calls, and with what: from a configuration to the socket.

#include <filesystem>

#include <gtest/gtest.h>

#include "cli/configuration/load.h"
#include "cli/process/serve_routes.h"
#include "tests/integration/gateway/raw_client.h"
#include "tests/support/certificates.h"
#include "tests/support/postgres.h"
#include "tests/support/recording_server.h"
#include "tests/support/unique.h"

namespace onceward::support {
namespace {

class UpstreamTargetTest : public ::testing::Test {
  protected:
    static RecordedAnswer moved(const RecordedCall&, int) {
        return {.status = 302, .headers = {{"Location", "/elsewhere"}}, .body = "moved"};
    }
    // A front door whose route calls 127.0.0.1 with these options of the upstream.
    std::unique_ptr<GatewayRun> door(const std::string& scheme, int port, const std::string& more) {
        const std::string text =
            "group: shop\nkafka: {bootstrap_servers: '127.0.0.1:1'}\npostgres: {dsn: '" +
            schema_.worker().dsn.reveal() + "', schema: " + schema_.name() +
            "}\nhttp:\n  listen: 127.0.0.1:0\n  routes:\n    - method: POST\n      path: /orders\n"
            "      upstream: {url: '" +
            scheme + "://127.0.0.1:" + std::to_string(port) + "'" + more +
            "}\n      ledger: {name: orders, store: lease}\n";
        const LoadResult loaded = load_configuration_text(text, "test.yaml");
        for (const Finding& finding : loaded.findings) {
            // `check` knows of an address; a name tells what it means only when it is called.
            const bool told =
                more.empty() && finding.message.find("not public") != std::string::npos;
            if (finding.severity == Finding::Severity::error && !told) {
                ADD_FAILURE() << finding.message;
            }
        }
        return std::make_unique<GatewayRun>(loaded.configuration);
    }
    static RawResponse ask(const GatewayRun& gateway, const std::string& key,
                           const std::string& headers = "") {
        RawClient client(gateway.port());
        return client.ask("POST", "/orders", "Idempotency-Key: " + key + "\r\n" + headers, "body")
            .value();
    }
    FreshSchema schema_;
};

TEST_F(UpstreamTargetTest, APrivateAddressIsNotCalledUnlessItIsAllowed) {
    const RecordingServer server(moved);
    {
        const auto gateway = door("http", server.port(), "");
        EXPECT_EQ(ask(*gateway, "k").status, 502);
        EXPECT_TRUE(server.calls().empty());
    }
    const auto gateway = door("http", server.port(), ", allow_private: [127.0.0.1]");
    EXPECT_EQ(ask(*gateway, "k").status, 302) << "nothing was sent, so that the key was free";
    EXPECT_EQ(server.calls().size(), 1U);
}

TEST_F(UpstreamTargetTest, ARedirectIsAnAnswerThatIsReplayedAndNobodyFollowsIt) {
    const RecordingServer server(moved);
    const auto gateway = door("http", server.port(), ", allow_private: [127.0.0.1]");
    for (const bool again : {false, true}) {
        const RawResponse response = ask(*gateway, "k");
        EXPECT_EQ(response.status, 302);
        EXPECT_EQ(response.headers.at("location"), "/elsewhere");
        EXPECT_EQ(response.headers.contains("idempotent-replayed"), again);
    }
    ASSERT_EQ(server.calls().size(), 1U);
    EXPECT_EQ(server.calls()[0].path, "/orders");
}

TEST_F(UpstreamTargetTest, ACertificateIsVerified) {
    const auto folder = std::filesystem::path(::testing::TempDir()) / unique_name("upstream_tls");
    std::filesystem::create_directories(folder);
    write_certificates(folder, false);
    const RecordingServer server(moved, folder);
    {
        const auto gateway = door("https", server.port(), ", allow_private: [127.0.0.1]");
        EXPECT_EQ(ask(*gateway, "k").status, 502) << "nobody knows its issuer";
        EXPECT_TRUE(server.calls().empty());
    }
    const auto gateway =
        door("https", server.port(),
             ", allow_private: [127.0.0.1], ca_file: '" + (folder / "ca.pem").string() + "'");
    EXPECT_EQ(ask(*gateway, "k").status, 302);
    EXPECT_EQ(server.calls().size(), 1U);
    std::filesystem::remove_all(folder);
}

TEST_F(UpstreamTargetTest, ItsHeadersStandInTheClientsPlaceAndCredentialsGoOnWhereTheyAreNamed) {
    const RecordingServer server(moved);
    const std::string sent = "X-Plan: free\r\nX-Trace: t\r\nCookie: c=d\r\nAuthorization: mine\r\n";
    const auto ask_with = [&](const std::string& key, const std::string& more) {
        const auto gateway = door("http", server.port(), ", allow_private: [127.0.0.1], " + more);
        EXPECT_EQ(ask(*gateway, key, sent).status, 302);
        return server.calls().back();
    };
    const RecordedCall own = ask_with("k", "headers: {x-plan: paid, Authorization: theirs}");
    EXPECT_EQ(own.headers.count("x-plan"), 1U);
    EXPECT_EQ(own.header("x-plan"), "paid");
    EXPECT_EQ(own.header("authorization"), "theirs");
    EXPECT_EQ(own.headers.count("authorization"), 1U);
    EXPECT_EQ(own.header("x-trace"), "t");
    EXPECT_EQ(own.header("cookie"), "");
    EXPECT_NE(own.header("idempotency-key"), "");
    EXPECT_NE(own.header("idempotency-key"), "k") << "the client's own goes no further";
    const RecordedCall forwarded = ask_with("l", "forward: [Authorization, Cookie]");
    EXPECT_EQ(forwarded.header("authorization"), "mine");
    EXPECT_EQ(forwarded.header("cookie"), "c=d");
    EXPECT_EQ(ask_with("m", "concurrency: 1").header("authorization"), "");
}

}  // namespace
}  // namespace onceward::support
