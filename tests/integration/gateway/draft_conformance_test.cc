// draft-ietf-httpapi-idempotency-key-header, case by case, through sockets, the front door and
// PostgreSQL. The cases are data (gateway/answers.h), so that one that is added there is run here.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "gateway/server.h"
#include "tests/integration/gateway/order_sink.h"
#include "tests/integration/gateway/raw_client.h"
#include "tests/support/eventually.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

class DraftTest : public ::testing::TestWithParam<DraftCase> {
  protected:
    DraftTest() {
        GatewayOptions options;
        options.server.port = 0;
        RouteOptions& route = options.routes.emplace_back();
        route.pattern = {"POST", "/orders/{id}"};
        route.target = SinkTarget{};
        door_ = std::make_unique<FrontDoor>(options, FrontDoor::Parts{.sinks = batcher_.get()});
        server_ = std::make_unique<HttpServer>(
            options.server, [this](HttpRequest request, HttpServer::Answer answer) {
                door_->handle(std::move(request), std::move(answer));
            });
        server_->start();
    }
    ~DraftTest() override {
        server_->stop(10s);
        batcher_.reset();
    }
    static std::string request(const std::string& header, const std::string& body) {
        return "POST /orders/1 HTTP/1.1\r\nHost: a\r\n" + header +
               "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    }
    RawResponse ask(const std::string& header, const std::string& body) {
        RawClient client(server_->port());
        client.send(request(header, body));
        return client.receive().value();
    }
    std::int64_t effects() { return schema_.database().number("SELECT count(*) FROM " + table_); }
    bool somebody_waits() {
        return eventually(30s, [&] {
            return schema_.database().number(
                       "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                       "application_name = 'orders'") > 0;
        });
    }

    FreshSchema schema_;
    std::string table_ = order_table(schema_);
    std::unique_ptr<RequestBatcher> batcher_ =
        std::make_unique<RequestBatcher>(order_batcher(schema_, table_));
    std::unique_ptr<FrontDoor> door_;
    std::unique_ptr<HttpServer> server_;
};

TEST_P(DraftTest, IsAsTheTableSays) {
    const DraftCase& one = GetParam();
    const std::string key = "Idempotency-Key: \"8e03978e-40d5-43dd-bc93-6894a57f9324\"\r\n";
    const bool failed = one.before == DraftCase::Before::completed_as_failure;
    const std::string body = failed ? "fail" : "body";
    Database holder(schema_.server().dsn);
    RawClient first(server_->port());
    std::optional<RawResponse> before;
    switch (one.before) {
        case DraftCase::Before::nothing: break;
        case DraftCase::Before::completed:
        case DraftCase::Before::completed_as_failure: before = ask(key, body); break;
        case DraftCase::Before::in_flight:
            holder.execute("BEGIN; LOCK TABLE " + table_ + " IN SHARE MODE");
            first.send(request(key, body));
            ASSERT_TRUE(somebody_waits());
            break;
    }
    const std::int64_t effects_before = effects();

    std::string header = key;
    if (one.sent == DraftCase::Sent::no_key) header.clear();
    if (one.sent == DraftCase::Sent::malformed_key) header = "Idempotency-Key: \"unended\r\n";
    const RawResponse response = ask(header, one.same_payload ? body : "other");

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
    EXPECT_EQ(effects() - effects_before, one.executed ? 1 : 0);
    if (one.before == DraftCase::Before::in_flight) {
        holder.execute("ROLLBACK");
        EXPECT_EQ(first.receive()->status, 201);
        EXPECT_EQ(effects(), 1);
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, DraftTest,
                         ::testing::ValuesIn(draft_cases().begin(), draft_cases().end()),
                         [](const auto& one) {
                             std::string name;
                             for (const char c : one.param.name) {
                                 if (c != ' ') name += c;
                             }
                             return name;
                         });

}  // namespace
}  // namespace onceward::support
