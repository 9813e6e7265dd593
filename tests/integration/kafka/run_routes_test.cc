// `http:` together with topics: one process of `onceward run` reads a topic and answers requests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <set>

#include "cli/admin/admin_server.h"
#include "lab/embedded/child_process.h"
#include "lab/embedded/reserved_port.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"
#include "tests/support/given_metrics.h"
#include "tests/support/one_waits.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;
using testing::HasSubstr;

// What needs a webhook, a call, an inbox, an outbox, traces, a reload, a failure, a dead letter, a
// schema registry, or claims that are held back.
bool needs_more(std::string_view metric) {
    static const std::set<std::string_view> some{"onceward_leases_taken_over_total",
                                                 "onceward_leases_lost_total",
                                                 "onceward_effects_again_total",
                                                 "onceward_leases_in_flight",
                                                 "onceward_lease_oldest_seconds",
                                                 "onceward_ledger_holder",
                                                 "onceward_ledger_open_transactions",
                                                 "onceward_ledger_open_transaction_seconds",
                                                 "onceward_ledger_results_bytes",
                                                 "onceward_ledger_memory_begins_timestamp_seconds",
                                                 "onceward_retention_ledger_failures_total",
                                                 "onceward_reload_last_success_timestamp_seconds",
                                                 "onceward_dead_letters_open_by_class",
                                                 "onceward_registry_fetches_total",
                                                 "onceward_registry_schemas",
                                                 "onceward_registry_schema_bytes",
                                                 "onceward_registry_available",
                                                 "onceward_outbox_leader",
                                                 "onceward_outbox_sent_total",
                                                 "onceward_outbox_failures_total",
                                                 "onceward_outbox_restarts_total",
                                                 "onceward_outbox_held_topics",
                                                 "onceward_outbox_held_keys",
                                                 "onceward_http_statement_timeouts_total",
                                                 "onceward_trace_spans_total",
                                                 "onceward_trace_spans_waiting"};
    return some.contains(metric);
}

// docs/metrics.md is made of the same list.
void expect_listed_metrics(const ListenAddress& port) {
    std::string missing = "all";
    EXPECT_TRUE(eventually(patience, [&] {
        const auto given = support::given_metrics(ask_admin_port(port, "/metrics", 5s).body);
        missing.clear();
        for (const MetricSpec& spec : metric_list) {
            if (needs_more(spec.name) || given.contains(std::string(spec.name))) continue;
            missing += " " + std::string(spec.name);
        }
        return missing.empty();
    })) << missing;
    for (const auto& [name, metric] :
         support::given_metrics(ask_admin_port(port, "/metrics", 5s).body)) {
        const auto spec = std::ranges::find(metric_list, name, &MetricSpec::name);
        if (spec == std::ranges::end(metric_list)) {
            ADD_FAILURE() << name << " is not in the list";
        } else {
            EXPECT_EQ(support::difference(*spec, metric), "") << name;
        }
    }
}

// `onceward run` with a topic, a route to a table and one to an upstream, on one server.
class RunWithRoutes : public testing::Test {
  protected:
    RunWithRoutes()
        : file_(std::filesystem::path(testing::TempDir()) / (scene_.topic() + ".yaml")) {
        const std::string schema = scene_.schema().name();
        std::ofstream(file_)
            << "group: " << scene_.group()
            << "\nkafka: {bootstrap_servers: " << support::kafka_bootstrap_servers()
            << "}\npostgres: {dsn: '" << scene_.schema().server().worker_dsn
            << "', schema: " << schema << ", application_name: " << schema
            << "}\nadmin: {listen: '127.0.0.1:" << admin_.number()
            << "'}\ntopics:\n  - name: " << scene_.topic()
            << "\n    format: json\n    start: earliest\n    key: {preset: idempotency-key}\n"
               "    sink: {table: "
            << schema
            << ".effects, columns: {key: {header: Idempotency-Key}, id: /id, kafka_partition: "
               "{metadata: partition}, kafka_offset: {metadata: offset}}}\n"
            << "http:\n  listen: 127.0.0.1:" << http_.number()
            << "\n  routes:\n    - method: POST\n      path: /orders/{id}\n"
               "      ledger: {name: requests}\n      sink: {table: "
            << scene_.schema().user_table("orders", "id text")
            << ", columns: {id: {header: '{id}'}}}\n"
               "    - method: POST\n      path: /charges\n      ledger: {name: charges, store: "
               "lease}\n      upstream: {url: 'http://127.0.0.1:1', allow_private: [127.0.0.1]}\n";
    }
    ~RunWithRoutes() override { std::filesystem::remove(file_); }
    ChildOptions command() const {
        ChildOptions options;
        options.command = {ONCEWARD_EXECUTABLE, "run", "-c", file_.string()};
        return options;
    }
    std::int64_t sessions(const std::string& purpose) {
        return scene_.database().number(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = '" +
            scene_.schema().name() + " " + purpose + "'");
    }
    Scene scene_;
    ReservedPort http_;
    ReservedPort admin_;
    std::filesystem::path file_;
};

TEST_F(RunWithRoutes, AServerHasOneGuardAndOneRetentionJobWhateverUsesIt) {
    ChildProcess process(command());
    scene_.send(1);
    EXPECT_TRUE(scene_.all_applied());
    httplib::Client client("127.0.0.1", http_.number());
    // Its session is opened after those of all guards and jobs.
    EXPECT_TRUE(eventually(patience, [&] {
        const auto answer =
            client.Post("/orders/7", {{"Idempotency-Key", "k"}}, "{}", "application/json");
        return answer && answer->status == 204;
    }));
    EXPECT_TRUE(
        eventually(patience, [&] { return sessions("guard") > 0 && sessions("retention") > 0; }));
    EXPECT_EQ(sessions("guard"), 1);
    EXPECT_EQ(sessions("retention"), 1);
    process.send(SIGTERM);
    const auto status = process.wait(60s);
    EXPECT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0);
}

TEST_F(RunWithRoutes, AMessageAndARequestAreEachOneEffectAndBothAreToldOf) {
    ChildProcess process(command());
    scene_.send(20);
    EXPECT_TRUE(scene_.all_applied());
    httplib::Client client("127.0.0.1", http_.number());
    const httplib::Headers key{{"Idempotency-Key", "k"}};
    for (const bool again : {false, true}) {
        const auto answer = client.Post("/orders/7", key, "{}", "application/json");
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->status, 204) << answer->body;
        EXPECT_EQ(answer->has_header("Idempotent-Replayed"), again);
    }
    EXPECT_EQ(scene_.database().number("SELECT count(*) FROM orders"), 1);
    const ListenAddress port{"127.0.0.1", admin_.number()};
    EXPECT_TRUE(eventually(patience, [&] {
        return ask_admin_port(port, "/readyz", 5s).status == 200;
    })) << ask_admin_port(port, "/readyz", 5s).body;
    const std::string metrics = ask_admin_port(port, "/metrics", 5s).body;
    EXPECT_THAT(metrics, HasSubstr("onceward_http_postgres_connected 1\n"));
    EXPECT_THAT(metrics,
                HasSubstr("onceward_http_replayed_total{route=\"POST /orders/{id}\"} 1\n"));
    EXPECT_THAT(metrics, HasSubstr("outcome=\"applied\"} 20\n"));
    expect_listed_metrics(port);

    // A request that is under way keeps the process; nobody is to send it others.
    support::Database blocker(scene_.schema().server().dsn);
    blocker.execute("BEGIN; LOCK TABLE " + scene_.schema().name() + ".orders");
    auto last = std::async(std::launch::async, [&client] {
        return client.Post("/orders/8", {{"Idempotency-Key", "l"}}, "{}", "application/json");
    });
    EXPECT_TRUE(support::one_waits_for(scene_.database(), blocker.pid()));
    process.send(SIGTERM);
    EXPECT_TRUE(eventually(patience, [&] {
        return ask_admin_port(port, "/readyz", 5s).body.find("draining") != std::string::npos;
    }));
    blocker.execute("ROLLBACK");
    const auto answer = last.get();
    EXPECT_TRUE(answer && answer->status == 204);
    const auto status = process.wait(60s);
    EXPECT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0);
    scene_.expect_exact();
}

}  // namespace
}  // namespace onceward::kafka_tests
