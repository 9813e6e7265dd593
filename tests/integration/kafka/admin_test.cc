// The admin port with real workers: what it counts, and when it says that something is wrong.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/process/admin_port.h"
#include "lab/embedded/child_process.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::kafka_tests {
namespace {

using support::eventually;
using testing::HasSubstr;

// A scene whose workers run in slots with an admin port, as `onceward run` has them.
class AdminScene {
  public:
    explicit AdminScene(int partitions = 1, std::size_t workers = 1)
        : scene_({.partitions = partitions}),
          slots_(scene_.group(), std::vector<std::string>(workers, default_database),
                 [this](std::size_t number) {
                     WorkerOptions options = scene_.options();
                     options.number = static_cast<int>(number);
                     options.stalled_after = 1s;
                     return make_slot_worker(std::move(options));
                 }),
          port_(ListenAddress{"127.0.0.1", 0}, slots_, {scene_.schema().worker()}, 100ms) {
        slots_.start();
    }
    ~AdminScene() { slots_.drain(); }
    AdminScene(const AdminScene&) = delete;
    AdminScene& operator=(const AdminScene&) = delete;

    Scene& scene() { return scene_; }
    ListenAddress address() const { return *port_.address(); }
    AdminAnswer get(const std::string& path) const { return ask_admin_port(address(), path, 5s); }
    bool becomes(const std::string& path, int status) const {
        return eventually(patience, [&] { return get(path).status == status; });
    }
    // The sum of a metric's samples whose line holds `part`.
    double metric(const std::string& name, const std::string& part = "") const {
        std::istringstream lines(get("/metrics").body);
        double sum = 0;
        for (std::string line; std::getline(lines, line);) {
            if (!line.starts_with(name + "{") && !line.starts_with(name + " ")) continue;
            if (line.find(part) == std::string::npos) continue;
            sum += std::stod(line.substr(line.rfind(' ')));
        }
        return sum;
    }
    // The exit code of `onceward health` with this argument.
    int health(const std::string& argument, std::uint16_t port,
               const std::string& group = "") const {
        const auto folder = std::filesystem::temp_directory_path() / support::unique_name("health");
        std::filesystem::create_directories(folder);
        std::ofstream(folder / "onceward.yaml")
            << "group: '" << (group.empty() ? scene_.group() : group)
            << "'\nkafka: {bootstrap_servers: \"localhost:1\"}\npostgres: {dsn: "
               "\"host=localhost\"}\nadmin: {listen: \"127.0.0.1:"
            << port << "\"}\ntopics:\n  - name: any\n    key: {preset: idempotency-key}\n"
            << "    sink: {table: any, columns: {id: /id}}\n";
        ChildOptions options;
        options.command = {ONCEWARD_EXECUTABLE, "health", "-c", folder / "onceward.yaml", argument};
        options.output = folder / "output";
        ChildProcess process(options);
        const auto status = process.wait(30s);
        std::filesystem::remove_all(folder);
        return status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
    }

  private:
    Scene scene_;
    WorkerSlots slots_;
    AdminPort port_;
};

TEST(AdminPort, TheCountersAddUpToWhatWasProduced) {
    AdminScene admin(2);
    Scene& scene = admin.scene();
    scene.send(300);
    auto repeats = scene.make(50, 0);
    scene.count(repeats);
    scene.kafka().produce(scene.topic(), repeats);
    scene.kafka().produce(scene.topic(), repeats);
    std::vector<support::ProducedMessage> odd = scene.make(20, 1);
    for (std::size_t i = 0; i < 10; ++i) odd[i].headers.clear();          // no key
    for (std::size_t i = 10; i < 20; ++i) odd[i].payload = std::nullopt;  // tombstones are skipped
    scene.kafka().produce(scene.topic(), odd);
    EXPECT_TRUE(
        eventually(patience, [&] { return admin.metric("onceward_messages_total") >= 420; }));
    const std::string name = "onceward_messages_total";
    EXPECT_EQ(admin.metric(name, "outcome=\"applied\""), 350);
    EXPECT_EQ(admin.metric(name, "outcome=\"duplicate\""), 50);
    EXPECT_EQ(admin.metric(name, "outcome=\"dead_lettered\""), 10);
    EXPECT_EQ(admin.metric(name, "outcome=\"skipped\""), 10);
    EXPECT_EQ(admin.metric(name), 420);
    // The durable ones add up as well.
    const std::string durable = "onceward_group_messages_total{group=\"" + scene.group();
    EXPECT_TRUE(eventually(patience, [&] {
        return admin.metric("onceward_group_messages_total", "") == 420;
    })) << admin.get("/metrics").body;
    EXPECT_THAT(admin.get("/metrics").body, HasSubstr(durable));
    EXPECT_EQ(admin.metric("onceward_group_messages_total", "outcome=\"duplicate\""), 50);
    EXPECT_EQ(admin.metric("onceward_ledger_generations"), 1);
    EXPECT_GT(admin.metric("onceward_ledger_bytes"), 8191);
    EXPECT_TRUE(eventually(patience, [&] {
        return admin.metric("onceward_lag_messages") == 0 &&
               admin.metric("onceward_lag_seconds") == 0;
    })) << admin.get("/metrics").body;
    const double batches = admin.metric("onceward_batches_total");
    EXPECT_EQ(batches, admin.metric("onceward_batch_duration_seconds_count"));
    const std::string parts = "onceward_batch_part_duration_seconds_";
    for (const char* part : {"fence", "claims", "sink", "settle", "commit"}) {
        EXPECT_EQ(admin.metric(parts + "count", std::string("\"") + part + "\""), batches) << part;
    }
    EXPECT_NEAR(admin.metric(parts + "sum"),
                admin.metric("onceward_batch_duration_seconds_sum"), 1e-6);
    // Each message once, whatever its outcome, and none of them was old.
    EXPECT_EQ(admin.metric("onceward_end_to_end_latency_seconds_count"), 420);
    EXPECT_EQ(admin.metric("onceward_end_to_end_latency_seconds_bucket", "le=\"60\""), 420);
    EXPECT_GT(admin.metric("onceward_end_to_end_latency_seconds_sum"), 0);
    EXPECT_GE(admin.metric("onceward_rebalances_total", "kind=\"assigned\""), 1);
    EXPECT_TRUE(eventually(patience, [&] {
        return admin.metric("onceward_dead_letters_open") == 10;
    })) << admin.get("/metrics").body;
    EXPECT_EQ(admin.metric("onceward_dead_letters_open_by_class"), 10);
    scene.database().execute("UPDATE dead_letters SET resolved_at = now()");
    EXPECT_TRUE(eventually(patience, [&] {
        return admin.metric("onceward_dead_letters_open") == 0;
    })) << admin.get("/metrics").body;
    EXPECT_THAT(admin.get("/metrics").body, HasSubstr("onceward_dead_letters_open{"));
}

TEST(AdminPort, AnIdleMemberIsReadyToo) {
    AdminScene admin(1, 2);
    EXPECT_TRUE(admin.becomes("/readyz", 200)) << admin.get("/readyz").body;
    EXPECT_EQ(admin.metric("onceward_group_joined"), 2);
    EXPECT_TRUE(
        eventually(patience, [&] { return admin.metric("onceward_partitions_assigned") == 1; }));
}

TEST(AdminPort, WhilePostgresRefusesItLivesAndIsNotReady) {
    AdminScene admin;
    ASSERT_TRUE(admin.becomes("/readyz", 200)) << admin.get("/readyz").body;
    const std::uint16_t port = admin.address().port;
    EXPECT_EQ(admin.health("--ready", port), 0);
    EXPECT_EQ(admin.health("--ready", port, "another group"), 1);
    support::Database& database = admin.scene().database();
    const std::string role = std::string("ALTER ROLE ") + support::worker_role;
    database.execute(role + " CONNECTION LIMIT 0");
    database.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '" +
                     std::string(support::worker_role) + "'");
    EXPECT_TRUE(eventually(patience, [&] {
        const AdminAnswer answer = admin.get("/readyz");
        return answer.status == 503 && answer.body.find("postgres: ") != std::string::npos &&
               answer.body.find("too many connections") != std::string::npos;
    })) << admin.get("/readyz").body;
    EXPECT_EQ(admin.get("/livez").status, 200);
    EXPECT_EQ(admin.health("--ready", port), 1);
    EXPECT_EQ(admin.health("--live", port), 0);
    EXPECT_EQ(admin.metric("onceward_postgres_connected"), 0);
    database.execute(role + " CONNECTION LIMIT -1");
    EXPECT_TRUE(admin.becomes("/readyz", 200)) << admin.get("/readyz").body;
    EXPECT_GE(admin.metric("onceward_postgres_reconnects_total"), 1);
}

TEST(AdminPort, AHaltedPartitionIsNamedWithItsReason) {
    AdminScene admin;
    admin.scene().database().execute("ALTER TABLE effects RENAME COLUMN id TO other");
    admin.scene().send(10);
    EXPECT_TRUE(admin.becomes("/readyz", 503));
    EXPECT_TRUE(eventually(patience, [&] {
        return admin.get("/readyz").body.find("partition " + admin.scene().topic() +
                                              "/0 halted: ") != std::string::npos;
    })) << admin.get("/readyz").body;
    EXPECT_EQ(admin.metric("onceward_partitions_halted"), 1);
    EXPECT_EQ(admin.get("/livez").status, 200);
    admin.scene().database().execute("ALTER TABLE effects RENAME COLUMN other TO id");
    EXPECT_TRUE(admin.becomes("/readyz", 200)) << admin.get("/readyz").body;
    EXPECT_TRUE(admin.scene().all_applied());
}

TEST(AdminPort, APartitionThatIsStuckIsToldWithinTheLimitAndWhenItMoves) {
    AdminScene admin;
    Scene& scene = admin.scene();
    const CapturedLog log;
    scene.send(10);
    ASSERT_TRUE(scene.all_applied());
    support::Database blocker(scene.schema().server().dsn);
    blocker.execute("BEGIN; LOCK TABLE " + scene.schema().name() + ".effects");
    scene.send(30);
    const std::string told =
        "partition.stalled topic=\"" + scene.topic() + "\" partition=0 lag=30 standing_s=";
    ASSERT_TRUE(log.says(told));
    // By the clock of who tells it, whatever this thread had to wait for.
    const std::string text = log.text();
    EXPECT_LT(std::stoi(text.substr(text.find(told) + told.size())), 10);
    EXPECT_TRUE(log.says("a transaction has been running") || log.says("PostgreSQL refuses", 0ms));
    EXPECT_THAT(admin.get("/readyz").body,
                HasSubstr("partition " + scene.topic() + "/0 stalled for "));
    EXPECT_EQ(admin.get("/livez").status, 200);
    EXPECT_EQ(admin.metric("onceward_lag_messages"), 30);
    EXPECT_GE(admin.metric("onceward_lag_seconds"), 1);
    EXPECT_EQ(admin.metric("onceward_partition_stalled"), 1);
    blocker.execute("COMMIT");
    EXPECT_TRUE(log.says("partition.moving"));
    EXPECT_TRUE(admin.becomes("/readyz", 200)) << admin.get("/readyz").body;
    scene.expect_all_once();
}

TEST(AdminPort, AHaltedPartitionIsToldToStandWhileMessagesWait) {
    AdminScene admin;
    Scene& scene = admin.scene();
    const CapturedLog log;
    scene.send(10);
    ASSERT_TRUE(scene.all_applied());
    scene.database().execute("ALTER TABLE effects RENAME COLUMN id TO other");
    scene.send(20);
    EXPECT_TRUE(log.says("partition.stalled"));
    EXPECT_EQ(admin.metric("onceward_lag_messages"), 20);
    scene.database().execute("ALTER TABLE effects RENAME COLUMN other TO id");
    EXPECT_TRUE(log.says("partition.moving"));
    scene.expect_all_once();
}

TEST(AdminPort, IsNeverSharedWithAnotherProcess) {
    AdminScene admin;
    const CapturedLog log;
    const AdminServer::Sources none;
    EXPECT_THROW(AdminServer(admin.address(), none), AdminError);
}

TEST(AdminPort, WhereNobodyListensHealthFails) {
    AdminScene admin;
    EXPECT_EQ(admin.health("--live", 1), 1);
    EXPECT_EQ(admin.health("--live", 0), 1);
}

}  // namespace
}  // namespace onceward::kafka_tests
