#pragma once
// A front door with a route to a table, one to an upstream and one to a topic, from a configuration
// in a file, and the operator's commands as processes with that file. For one test at a time; owns
// its schema, its file and what it serves.

#include <future>

#include "cli/configuration/load.h"
#include "cli/process/serve_routes.h"
#include "tests/integration/gateway/raw_client.h"
#include "tests/integration/postgres/operator_scene.h"
#include "tests/support/recording_server.h"

namespace onceward::operator_tests {

class RouteScene : public testing::Test {
  protected:
    RouteScene()
        : table_(schema_.user_table("orders", "id text")),
          upstream_([this](const support::RecordedCall& call, int) { return answer(call.body); }),
          file_(std::filesystem::path(testing::TempDir()) / support::unique_name("routes")) {
        const std::string text =
            "group: shop\nkafka: {bootstrap_servers: '127.0.0.1:1'}\npostgres: {dsn: '" +
            schema_.worker().dsn.reveal() + "', schema: " + schema_.name() +
            "}\nhttp:\n  listen: 127.0.0.1:0\n  routes:\n"
            "    - method: POST\n      path: /orders/{id}\n      tenant: {header: X-Tenant}\n"
            "      sink: {table: " +
            table_ +
            ", columns: {id: {header: '{id}'}}}\n"
            "      ledger: {name: orders}\n"
            "    - method: POST\n      path: /charges\n      status_path: /charge-keys\n"
            "      tenant: {header: X-Tenant}\n      upstream: {url: 'http://127.0.0.1:" +
            std::to_string(upstream_.port()) +
            "', allow_private: [127.0.0.1]}\n"
            "      ledger: {name: charges, store: lease}\n"
            "    - method: POST\n      path: /events\n      topic: events\n";
        std::ofstream(file_) << text;
        const LoadResult loaded = load_configuration_text(text, "routes.yaml");
        for (const Finding& finding : loaded.findings) ADD_FAILURE() << finding.message;
        configuration_ = loaded.configuration;
        serve();
    }
    ~RouteScene() override {
        let_go();
        std::filesystem::remove(file_);
    }
    void serve() { gateway_ = std::make_unique<GatewayRun>(configuration_); }
    // Calls with the body `wait` have their answers from then on.
    void let_go() {
        if (!gone_) go_.set_value();
        gone_ = true;
    }
    support::RawResponse send(const std::string& method, const std::string& path,
                              const std::string& key, const std::string& body = "",
                              const std::string& tenant = "acme") {
        support::RawClient client(gateway_->port());
        return client
            .ask(method, path, "Idempotency-Key: " + key + "\r\nX-Tenant: " + tenant + "\r\n", body)
            .value();
    }
    support::RawResponse order(const std::string& key, const std::string& id = "7") {
        return send("POST", "/orders/" + id, key, "{}");
    }
    support::RawResponse charge(const std::string& key, const std::string& body) {
        return send("POST", "/charges", key, body);
    }
    // With the configuration, under the workers' role.
    Outcome run(std::vector<std::string> arguments) {
        arguments.insert(arguments.end(), {"-c", file_.string()});
        return onceward(std::move(arguments));
    }
    // As the schema's owner, who may do what an operator may.
    Outcome run_as_owner(std::vector<std::string> arguments) {
        arguments.insert(arguments.end(),
                         {"--dsn", schema_.server().dsn, "--schema", schema_.name()});
        return run(std::move(arguments));
    }
    Database& database() { return schema_.database(); }
    std::int64_t rows() { return database().number("SELECT count(*) FROM " + table_); }

  private:
    support::RecordedAnswer answer(const std::string& body) {
        if (body == "no") return {.status = 402, .body = "no money"};
        if (body == "busy") return {.status = 503, .body = "busy"};
        if (body == "wait") released_.wait();
        return {.status = 201, .body = "made"};
    }
    std::promise<void> go_;
    std::shared_future<void> released_ = go_.get_future().share();
    bool gone_ = false;

  protected:
    FreshSchema schema_;
    std::string table_;
    support::RecordingServer upstream_;
    std::filesystem::path file_;
    Configuration configuration_;
    std::unique_ptr<GatewayRun> gateway_;
};

}  // namespace onceward::operator_tests
