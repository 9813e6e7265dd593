// `http:` together with topics: one process of `onceward run` reads a topic and answers requests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "cli/admin/admin_server.h"
#include "lab/embedded/child_process.h"
#include "lab/embedded/reserved_port.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;
using testing::HasSubstr;

TEST(RunWithRoutes, AMessageAndARequestAreEachOneEffectAndBothAreToldOf) {
    Scene scene;
    const ReservedPort http;
    const ReservedPort admin;
    const std::filesystem::path file =
        std::filesystem::path(testing::TempDir()) / (scene.topic() + ".yaml");
    const std::string table = scene.schema().name() + ".effects";
    std::ofstream(file)
        << "group: " << scene.group()
        << "\nkafka: {bootstrap_servers: " << support::kafka_bootstrap_servers()
        << "}\npostgres: {dsn: '" << scene.schema().server().worker_dsn
        << "', schema: " << scene.schema().name()
        << "}\nadmin: {listen: '127.0.0.1:" << admin.number()
        << "'}\ntopics:\n  - name: " << scene.topic()
        << "\n    format: json\n    start: earliest\n    key: {preset: idempotency-key}\n    sink: "
           "{table: "
        << table
        << ", columns: {key: {header: Idempotency-Key}, id: /id, kafka_partition: "
           "{metadata: partition}, kafka_offset: {metadata: offset}}}\n"
        << "http:\n  listen: 127.0.0.1:" << http.number()
        << "\n  routes:\n    - method: POST\n      path: /orders/{id}\n"
           "      ledger: {name: requests}\n      sink: {table: "
        << scene.schema().user_table("orders", "id text") << ", columns: {id: {header: '{id}'}}}\n";
    ChildOptions options;
    options.command = {ONCEWARD_EXECUTABLE, "run", "-c", file.string()};
    ChildProcess process(options);
    scene.send(20);
    EXPECT_TRUE(scene.all_applied());
    httplib::Client client("127.0.0.1", http.number());
    const httplib::Headers key{{"Idempotency-Key", "k"}};
    for (const bool again : {false, true}) {
        const auto answer = client.Post("/orders/7", key, "{}", "application/json");
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->status, 204) << answer->body;
        EXPECT_EQ(answer->has_header("Idempotent-Replayed"), again);
    }
    EXPECT_EQ(scene.database().number("SELECT count(*) FROM orders"), 1);
    const ListenAddress port{"127.0.0.1", admin.number()};
    EXPECT_TRUE(eventually(patience, [&] {
        return ask_admin_port(port, "/readyz", 5s).status == 200;
    })) << ask_admin_port(port, "/readyz", 5s).body;
    const std::string metrics = ask_admin_port(port, "/metrics", 5s).body;
    EXPECT_THAT(metrics, HasSubstr("onceward_http_postgres_connected 1\n"));
    EXPECT_THAT(metrics,
                HasSubstr("onceward_http_replayed_total{route=\"POST /orders/{id}\"} 1\n"));
    EXPECT_THAT(metrics, HasSubstr("outcome=\"applied\"} 20\n"));

    // A request that is under way keeps the process; nobody is to send it others.
    support::Database blocker(scene.schema().server().dsn);
    blocker.execute("BEGIN; LOCK TABLE " + scene.schema().name() + ".orders");
    auto last = std::async(std::launch::async, [&client] {
        return client.Post("/orders/8", {{"Idempotency-Key", "l"}}, "{}", "application/json");
    });
    const std::string asked = "SELECT count(*) FROM pg_stat_activity WHERE " +
                              blocker.value("SELECT pg_backend_pid()") +
                              " = ANY (pg_blocking_pids(pid))";
    EXPECT_TRUE(eventually(patience, [&] { return scene.database().number(asked) == 1; }));
    process.send(SIGTERM);
    EXPECT_TRUE(eventually(patience, [&] {
        return ask_admin_port(port, "/readyz", 5s).body.find("draining") != std::string::npos;
    }));
    blocker.execute("ROLLBACK");
    const auto answer = last.get();
    EXPECT_TRUE(answer && answer->status == 204);
    const auto status = process.wait(60s);
    EXPECT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0);
    scene.expect_exact();
    std::filesystem::remove(file);
}

}  // namespace
}  // namespace onceward::kafka_tests
