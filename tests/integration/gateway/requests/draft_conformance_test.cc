// draft-ietf-httpapi-idempotency-key-header, case by case, through sockets, the front door and
// PostgreSQL, for routes to a table under each store and for one to an upstream. The cases are data
// (tests/support/draft_cases.h), so that one that is added there is run here.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "gateway/http/server.h"
#include "tests/integration/gateway/draft_target.h"
#include "tests/integration/gateway/raw_client.h"
#include "tests/support/draft_cases.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

enum class DraftRoute : std::uint8_t { table, log, upstream };

std::unique_ptr<DraftTarget> draft_target(DraftRoute route) {
    switch (route) {
        case DraftRoute::table: return std::make_unique<SinkDraftTarget>(StoreKind::table);
        case DraftRoute::log: return std::make_unique<SinkDraftTarget>(StoreKind::log);
        case DraftRoute::upstream: return std::make_unique<UpstreamDraftTarget>();
    }
    return nullptr;
}

const std::string written_key = "\"8e03978e-40d5-43dd-bc93-6894a57f9324\"";
const std::string key_line = "Idempotency-Key: " + written_key + "\r\n";

std::string key_lines(DraftCase::Sent sent) {
    switch (sent) {
        case DraftCase::Sent::key:
        case DraftCase::Sent::unexpected_key: return key_line;
        case DraftCase::Sent::no_key: return "";
        case DraftCase::Sent::malformed_key: return "Idempotency-Key: \"unended\r\n";
        case DraftCase::Sent::empty_key: return "Idempotency-Key: \r\n";
        case DraftCase::Sent::overlong_key:
            return "Idempotency-Key: \"" + std::string(256, 'k') + "\"\r\n";
        case DraftCase::Sent::repeated_key: return key_line + key_line;
    }
    return "";
}

class DraftTest : public ::testing::TestWithParam<std::tuple<DraftRoute, DraftCase>> {
  protected:
    DraftTest() {
        GatewayOptions options;
        options.server.port = 0;
        options.routes.resize(2);
        options.routes[0].pattern = {"POST", "/orders/{id}"};
        options.routes[1].pattern = {"POST", "/keyless/{id}"};
        options.routes[1].key.use = KeyUse::forbidden;
        for (RouteOptions& route : options.routes) route.target = target_->route();
        door_ = std::make_unique<FrontDoor>(options, target_->parts());
        server_ = std::make_unique<HttpServer>(
            options.server, [this](HttpRequest request, HttpServer::Answer answer) {
                door_->handle(std::move(request), std::move(answer));
            });
        server_->start();
    }
    ~DraftTest() override {
        target_->let_go();
        server_->stop(10s);
        target_.reset();
    }
    static std::string request(const std::string& headers, const std::string& body,
                               const std::string& path = "/orders/1") {
        return "POST " + path + " HTTP/1.1\r\nHost: a\r\n" + headers +
               "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    }
    RawResponse ask(const std::string& bytes) {
        RawClient client(server_->port());
        client.send(bytes);
        return client.receive().value();
    }
    // The response of a request that was carried out just now.
    static void expect_first(const RawResponse& response, int status) {
        EXPECT_EQ(response.status, status);
        EXPECT_EQ(response.headers.at("idempotency-key"), written_key);
        EXPECT_FALSE(response.headers.contains("idempotent-replayed"));
    }
    // By the case, `before` being the first one's answer where there is one.
    static void expect_answer(const DraftCase& one, const RawResponse& response,
                              const std::optional<RawResponse>& before) {
        if (one.status != 0) {
            EXPECT_EQ(response.status, one.status);
            EXPECT_EQ(response.headers.at("content-type"), "application/problem+json");
            EXPECT_EQ(nlohmann::json::parse(response.body).at("type"), one.problem_type);
            EXPECT_EQ(response.headers.contains("retry-after"), one.status == 409);
        } else if (before) {
            EXPECT_EQ(response.status, before->status);
            EXPECT_EQ(response.body, before->body);
            EXPECT_EQ(response.headers.at("content-type"), before->headers.at("content-type"));
        } else {
            EXPECT_EQ(response.status, 201);
        }
        EXPECT_EQ(response.headers.contains("idempotent-replayed"), one.replayed);
        // A key that was taken is told again, also with a refusal.
        ASSERT_EQ(response.headers.contains("idempotency-key"), one.sent == DraftCase::Sent::key);
        if (one.sent == DraftCase::Sent::key) {
            EXPECT_EQ(response.headers.at("idempotency-key"), written_key);
        }
    }

    std::unique_ptr<DraftTarget> target_ = draft_target(std::get<DraftRoute>(GetParam()));
    std::unique_ptr<FrontDoor> door_;
    std::unique_ptr<HttpServer> server_;
};

TEST_P(DraftTest, IsAsTheTableSays) {
    const DraftCase& one = std::get<DraftCase>(GetParam());
    const bool failed = one.before == DraftCase::Before::completed_as_failure;
    const std::string body = failed ? "fail" : "body";
    RawClient first(server_->port());
    std::optional<RawResponse> before;
    switch (one.before) {
        case DraftCase::Before::nothing: break;
        case DraftCase::Before::completed:
        case DraftCase::Before::completed_as_failure:
            before = ask(request(key_line, body));
            expect_first(*before, failed ? 402 : 201);
            break;
        case DraftCase::Before::in_flight:
            target_->hold();
            first.send(request(key_line, body));
            ASSERT_TRUE(target_->one_is_held());
            break;
    }
    const std::int64_t effects_before = target_->effects();

    const bool keyless = one.sent == DraftCase::Sent::unexpected_key;
    const RawResponse response = ask(request(key_lines(one.sent), one.same_payload ? body : "other",
                                             keyless ? "/keyless/1" : "/orders/1"));

    expect_answer(one, response, before);
    EXPECT_EQ(target_->effects() - effects_before, one.executed ? 1 : 0);
    if (one.before == DraftCase::Before::in_flight) {
        target_->let_go();
        expect_first(first.receive().value(), 201);
        EXPECT_EQ(target_->effects(), 1);
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, DraftTest,
                         ::testing::Combine(::testing::Values(DraftRoute::table, DraftRoute::log,
                                                              DraftRoute::upstream),
                                            ::testing::ValuesIn(draft_cases)),
                         [](const auto& one) {
                             std::string name;
                             switch (std::get<DraftRoute>(one.param)) {
                                 case DraftRoute::table: name = "Table_"; break;
                                 case DraftRoute::log: name = "Log_"; break;
                                 case DraftRoute::upstream: name = "Upstream_"; break;
                             }
                             for (const char c : std::get<DraftCase>(one.param).name) {
                                 if (c != ' ') name += c;
                             }
                             return name;
                         });

}  // namespace
}  // namespace onceward::support
