#pragma once
// A route to an upstream against a real PostgreSQL and a server that writes down each call.

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>

#include "cli/composition/keyed_routes.h"
#include "dedup/ledger/ledger.h"
#include "dedup/postgres/transaction.h"
#include "gateway/requests/keyed_request.h"
#include "gateway/to_upstream/upstream_requests.h"
#include "tests/integration/gateway/order_sink.h"
#include "tests/support/recording_server.h"

namespace onceward::support {

inline std::string told_of(const KeyedOutcome& outcome) {
    if (const auto* problem = std::get_if<Problem>(&outcome)) {
        return std::to_string(status_of(problem->kind)) + " " +
               type_of(problem->kind).substr(problem_path.size());
    }
    const KeyedAnswer& answer = std::get<KeyedAnswer>(outcome);
    const std::string result = std::to_string(answer.result.status) + " " + answer.result.body;
    switch (answer.state) {
        case KeyState::fresh: return result;
        case KeyState::replayed: return "replayed " + result;
        case KeyState::in_flight: return "in flight";
        case KeyState::conflict: return "conflict";
    }
    return "";
}

inline RecordedAnswer made(const RecordedCall& call, int) {
    return {.status = 201,
            .headers = {{"Location", "/orders/1"}, {"Set-Cookie", "a=b"}},
            .body = "made " + call.body};
}

class UpstreamScene : public ::testing::Test {
  protected:
    UpstreamScene() {
        options_.postgres = schema_.worker();
        options_.ledger.name = "charges";
        options_.ledger.store = StoreKind::lease;
        options_.ledger.stores_results = true;
        options_.ledger.lease = std::chrono::seconds(60);
        options_.service = "shop";
        options_.name = "POST /orders/{id}";
        options_.key_header = "Idempotency-Key";
        options_.upstream.allow_private = {"127.0.0.1"};
        options_.upstream.timeout = std::chrono::seconds(20);
        options_.upstream.concurrency = 4;
    }
    // Calls this server from now on.
    void serve(RecordingServer::Answer answer) {
        server_ = std::make_unique<RecordingServer>(std::move(answer));
        start(server_->port());
    }
    // The same of a server that answers once the promise is kept.
    std::promise<void> serve_held() {
        std::promise<void> go;
        serve([gone = go.get_future().share()](const RecordedCall& call, int number) {
            gone.wait();
            return made(call, number);
        });
        return go;
    }
    void start(int port) {
        options_.upstream.url = Secret("http://127.0.0.1:" + std::to_string(port) + "/base");
        options_.client = [upstream = options_.upstream, bytes = options_.limits.max_bytes] {
            return make_upstream_client(upstream, bytes);
        };
        route_ = std::make_unique<UpstreamRequests>(options_);
    }
    std::future<std::string> submit(KeyedRequest request) {
        auto promise = std::make_shared<std::promise<std::string>>();
        std::vector<KeyedRequest> requests;
        requests.push_back(std::move(request));
        route_->submit(std::move(requests), [promise](std::size_t, KeyedOutcome outcome) {
            promise->set_value(told_of(outcome));
        });
        return promise->get_future();
    }
    std::string ask(const std::string& key, const std::string& body = "body") {
        return submit(order(key, body)).get();
    }
    std::string state(const std::string& key) { return state(key, schema_); }
    static std::string state(const std::string& key, FreshSchema& schema) {
        return schema.database().value(
            "SELECT coalesce(string_agg(state || ' ' || attempts || CASE WHEN owner_token = "
            "'00000000-0000-0000-0000-000000000000' THEN ' free' ELSE '' END, ','), '') FROM "
            "leases WHERE digest = '" +
            uuid_text(order(key, "").digest) + "'");
    }
    // In the ledger's one generation. REQUIRES: a request with a key came.
    std::int64_t answers_kept() {
        return schema_.database().number(
            "SELECT count(*) FROM " +
            schema_.database().value(
                "SELECT 'results_' || ledger || '_' || generation FROM generations"));
    }
    // As a process that claims the key and is killed.
    void crash_with(const std::string& key, std::chrono::milliseconds lease) {
        Connection connection(schema_.worker());
        const RegisteredLedger registered = register_requests(
            connection, options_.ledger, options_.service, options_.name, std::chrono::seconds(60));
        const KeyedRequest request = order(key, "body");
        OwnedTransaction transaction(connection);
        Leases(registered, lease, random_digest())
            .claim_request(transaction, {request.digest, request.fingerprint, {}, {}}, false);
        transaction.commit();
    }

    FreshSchema schema_;
    UpstreamRequestOptions options_;
    std::unique_ptr<RecordingServer> server_;
    std::unique_ptr<UpstreamRequests> route_;
};

}  // namespace onceward::support
