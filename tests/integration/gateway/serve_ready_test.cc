// What `onceward serve` says at its admin port.

#include "cli/admin/admin_server.h"
#include "lab/embedded/private_postgres.h"
#include "lab/embedded/reserved_port.h"
#include "tests/integration/gateway/raw_client.h"
#include "tests/integration/postgres/operator_scene.h"
#include "tests/support/cutting_proxy.h"
#include "tests/support/eventually.h"
#include "tests/support/notify_socket.h"

namespace onceward::operator_tests {
namespace {

using namespace std::chrono_literals;
using support::eventually;

class ServeReady : public testing::Test {
  protected:
    ServeReady()
        : file_(std::filesystem::path(testing::TempDir()) / support::unique_name("serve")) {
        Database(postgres_.dsn()).execute("CREATE TABLE orders (id text)");
    }
    ~ServeReady() override { std::filesystem::remove(file_); }
    void write(const std::string& routes) const {
        std::ofstream(file_) << "group: shop\nkafka: {bootstrap_servers: '127.0.0.1:1'}\n"
                                "drain_timeout: 2s\npostgres: {statement_timeout: 3s, "
                                "lock_timeout: 1s, dsn: '"
                             << postgres_.dsn() << more_of_dsn_
                             << "'}\nadmin: {listen: '127.0.0.1:" << admin_.number()
                             << "'" << more_of_admin_
                             << "}\nhttp:\n  listen: 127.0.0.1:0\n  routes:\n"
                             << routes;
    }
    ChildProcess serve(std::vector<std::string> environment = {}) const {
        ChildOptions options;
        options.environment = std::move(environment);
        options.command = {ONCEWARD_EXECUTABLE, "serve", "-c", file_.string()};
        return ChildProcess(options);
    }
    AdminAnswer ask(const std::string& path) const {
        return ask_admin_port({"127.0.0.1", admin_.number()}, path, 5s);
    }
    bool ready_says(int status, const std::string& part) const {
        return eventually(30s, [&] {
            try {
                const AdminAnswer answer = ask("/readyz");
                return answer.status == status && answer.body.find(part) != std::string::npos;
            } catch (const AdminError&) {
                return false;  // it does not listen yet
            }
        });
    }
    static void stop(ChildProcess& process) {
        process.send(SIGTERM);
        const auto status = process.wait(30s);
        EXPECT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0);
    }

    static constexpr const char* sink =
        "    - method: POST\n      path: /orders/{id}\n"
        "      sink: {table: orders, columns: {id: {header: '{id}'}}}\n";
    PrivatePostgres postgres_;
    std::string more_of_dsn_;  // libpq takes the last of repeated keywords
    std::string more_of_admin_;
    ReservedPort admin_;
    std::filesystem::path file_;
};

TEST_F(ServeReady, EndsWhileThePostgresOfItsRoutesIsAway) {
    write(sink);
    ASSERT_EQ(onceward({"migrate", "up", "-c", file_.string()}).exit_code, 0);
    ChildProcess process = serve();
    EXPECT_TRUE(ready_says(200, "ok"));
    EXPECT_THAT(ask("/metrics").body, HasSubstr("onceward_http_postgres_connected 1\n"));
    postgres_.stop(PrivatePostgres::Stop::immediate);
    EXPECT_TRUE(ready_says(503, "routes: postgres: "));
    EXPECT_THAT(ask("/metrics").body, HasSubstr("onceward_http_postgres_connected 0\n"));
    EXPECT_EQ(ask("/livez").status, 200) << "a restart would help nobody";
    postgres_.start();
    EXPECT_TRUE(ready_says(200, "ok"));
    stop(process);
}

TEST_F(ServeReady, IsSaidToTheServiceManagerWithSignsOfLifeUntilTheDrain) {
    const support::NotifySocket manager;
    write(sink);
    ASSERT_EQ(onceward({"migrate", "up", "-c", file_.string()}).exit_code, 0);
    ChildProcess process =
        serve({"NOTIFY_SOCKET=" + manager.path(), "WATCHDOG_USEC=3000000"});
    EXPECT_EQ(manager.receive(30s), "READY=1");
    EXPECT_TRUE(manager.receives("STATUS=ready\n", 30s));
    EXPECT_TRUE(manager.receives("WATCHDOG=1", 10s));
    EXPECT_TRUE(manager.receives("WATCHDOG=1", 10s)) << "again and again";
    stop(process);
    EXPECT_TRUE(manager.receives("STOPPING=1", 10s));
}

TEST_F(ServeReady, EndsWhereItsPostgresSaysNothingAndTheProcessEndsAllTheSame) {
    support::CuttingProxy proxy(support::CuttingProxy::Protocol::postgres, postgres_.port());
    more_of_dsn_ = " port=" + std::to_string(proxy.port());
    write(sink);
    ASSERT_EQ(onceward({"migrate", "up", "-c", file_.string()}).exit_code, 0);
    ChildProcess process = serve();
    EXPECT_TRUE(ready_says(200, "ok"));
    proxy.black_hole(true);
    EXPECT_TRUE(ready_says(503, "routes: postgres: no answer for "));
    process.send(SIGTERM);
    const auto status = process.wait(60s);
    EXPECT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) == 1);
}

TEST_F(ServeReady, BeginsWithTheSchemaThatItsRoutesNeed) {
    write(sink);
    ChildProcess process = serve();
    EXPECT_TRUE(ready_says(503, "onceward migrate up"));
    ASSERT_EQ(onceward({"migrate", "up", "-c", file_.string()}).exit_code, 0);
    EXPECT_TRUE(ready_says(200, "ok"));
    stop(process);
}

// The whole way: from the file to the log of who acted.
TEST_F(ServeReady, LetsTheConfiguredCallersActAlone) {
    more_of_admin_ = ", operate: {tokens: {alice: 0123456789abcdef}}";
    write(sink);
    ASSERT_EQ(onceward({"migrate", "up", "-c", file_.string()}).exit_code, 0);
    ChildProcess process = serve();
    EXPECT_TRUE(ready_says(200, "ok"));
    Database database(postgres_.dsn());
    database.execute(
        "INSERT INTO onceward.ledgers (name, store, reach, retention) VALUES ('hand', 'table', "
        "'global', '1 day'); SELECT onceward.rotate_ledger(ledger, 0) FROM onceward.ledgers WHERE "
        "name = 'hand'");
    const std::string digest = uuid_of("record_key", "k");
    database.execute("DO $$ BEGIN EXECUTE format('INSERT INTO onceward.claims_%s_1 (digest, "
                     "record_offset, partition, source) VALUES (''" +
                     digest +
                     "'', 0, 0, 1)', (SELECT ledger FROM onceward.ledgers WHERE name = 'hand')); "
                     "END $$");
    const auto forget = [&](const std::string& token) {
        support::RawClient client(admin_.number());
        return client
            .ask("POST", "/api/forget",
                 "Onceward-Act: 1\r\nContent-Type: application/json\r\n"
                 "Authorization: Bearer " +
                     token + "\r\n",
                 R"({"digest": true, "dry_run": false, "reason": "test", "key": ")" + digest +
                     R"("})")
            ->status;
    };
    EXPECT_EQ(forget("0123456789abcdee"), 401);
    EXPECT_EQ(forget("0123456789abcdef"), 200);
    EXPECT_EQ(database.value("SELECT who || ' ' || act || ' ' || target FROM onceward.audit_log "
                             "WHERE way = 'admin port'"),
              "alice forget ledger hand");
    stop(process);
}

TEST_F(ServeReady, RoutesToTopicsDoNotWaitForPostgres) {
    write("    - method: POST\n      path: /events\n      topic: events\n");
    postgres_.stop(PrivatePostgres::Stop::immediate);
    ChildProcess process = serve();
    EXPECT_TRUE(ready_says(200, "ok"));
    EXPECT_EQ(ask("/metrics").body.find("onceward_http_postgres_connected"), std::string::npos);
    stop(process);
}

}  // namespace
}  // namespace onceward::operator_tests
