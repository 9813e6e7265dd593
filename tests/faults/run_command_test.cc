// `onceward run` as it is deployed: over TLS, with what it needs missing or wrong, and stopped.
// Whatever is wrong is said in the log, and what was sent meanwhile is applied once it is right.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <optional>

#include "tests/faults/crash_scene.h"
#include "tests/support/cutting_proxy.h"
#include "tests/support/eventually.h"
#include "tests/support/kafka_broker.h"
#include "tests/support/notify_socket.h"
#include "tests/support/old_migrations.h"
#include "tests/support/unique.h"

namespace onceward::faults {
namespace {

using std::chrono::milliseconds;

// How long to wait for what must come. Only a test that fails waits so long.
support::Properties secure(const support::KafkaBroker& broker, const std::string& mechanism) {
    return {{"security.protocol", "SASL_SSL"},
            {"sasl.mechanism", mechanism},
            {"sasl.username", "onceward"},
            {"sasl.password", "sasl-secret"},
            {"ssl.ca.location", broker.ca_file()}};
}

void expect_exact(CrashScene& scene) {
    EXPECT_TRUE(scene.drained(patience)) << scene.last_log();
    EXPECT_THAT(complaints(scene.verdict()), ::testing::IsEmpty());
}

TEST(RunCommand, ConsumesOverTlsWithEachSaslMechanism) {
    for (const char* mechanism : {"PLAIN", "SCRAM-SHA-512"}) {
        SceneOptions options;
        options.bootstrap_servers = support::shared_broker().secure_bootstrap_servers();
        options.kafka_properties = secure(support::shared_broker(), mechanism);
        CrashScene scene(support::seed(), options);
        scene.send(1000);
        ChildProcess worker = scene.start_worker();
        expect_exact(scene);
        scene.stop_worker(worker);
        EXPECT_EQ(scene.last_log().find("sasl-secret"), std::string::npos);
    }
}

TEST(RunCommand, AWrongPasswordIsSaidAndNotShown) {
    SceneOptions options;
    options.dsn_more = " password=guessed-secret";
    CrashScene scene(support::seed(), options);
    ChildProcess worker = scene.start_worker();
    EXPECT_TRUE(scene.logged("password authentication failed", patience)) << scene.last_log();
    EXPECT_TRUE(worker.running());
    scene.stop_worker(worker);
    EXPECT_EQ(scene.last_log().find("guessed-secret"), std::string::npos);
}

// A closed terminal or `systemctl reload` sends it.
TEST(RunCommand, AHangUpReloadsAndDoesNotEndIt) {
    CrashScene scene(support::seed());
    scene.send(500);
    ChildProcess worker = scene.start_worker();
    ASSERT_TRUE(scene.drained(patience)) << scene.last_log();
    worker.send(SIGHUP);
    EXPECT_TRUE(scene.logged("result=\"unchanged\"", patience)) << scene.last_log();
    EXPECT_TRUE(worker.running());
    scene.send(500);
    expect_exact(scene);
    scene.stop_worker(worker);
}

TEST(RunCommand, TheServiceManagerHearsOfItsStartItsLifeAndItsDrain) {
    const support::NotifySocket manager;
    CrashScene scene(support::seed());
    scene.send(100);
    ChildProcess worker =
        scene.start_worker({}, {"NOTIFY_SOCKET=" + manager.path(), "WATCHDOG_USEC=3000000"});
    EXPECT_EQ(manager.receive(patience), "READY=1");
    EXPECT_TRUE(manager.receives("STATUS=ready\nWATCHDOG=1", patience)) << scene.last_log();
    EXPECT_TRUE(manager.receives("WATCHDOG=1", patience));
    scene.stop_worker(worker);
    EXPECT_TRUE(manager.receives("STOPPING=1", patience));
}

TEST(RunCommand, ASchemaOfAnotherVersionIsRefusedWithTheCommandToRun) {
    CrashScene scene(support::seed());
    scene.database().execute("DELETE FROM schema_migrations");
    ChildProcess worker = scene.start_worker();
    const std::optional<int> status = worker.wait(patience);
    ASSERT_TRUE(status && WIFEXITED(*status));
    EXPECT_NE(WEXITSTATUS(*status), 0);
    EXPECT_THAT(scene.last_log(), ::testing::HasSubstr("onceward migrate up"));
}

TEST(RunCommand, ASchemaOfBeforeTheReleaseIsRefused) {
    CrashScene scene(support::seed());
    scene.database().execute(
        support::record_old_migrations(scene.database().value("SELECT current_schema()")));
    ChildProcess worker = scene.start_worker();
    const std::optional<int> status = worker.wait(patience);
    ASSERT_TRUE(status && WIFEXITED(*status));
    EXPECT_EQ(WEXITSTATUS(*status), 1);
    EXPECT_THAT(scene.last_log(), ::testing::HasSubstr("from before the first release"));
}

TEST(RunCommand, ATopicThatComesLaterIsConsumedThen) {
    SceneOptions options;
    options.create_topic = false;
    options.kafka_properties = {{"topic.metadata.refresh.interval.ms", "500"}};
    CrashScene scene(support::seed(), options);
    ChildProcess worker = scene.start_worker();
    EXPECT_TRUE(scene.logged(scene.topic(), patience)) << scene.last_log();
    EXPECT_TRUE(worker.running());
    support::kafka().create_topic(scene.topic(), CrashScene::partitions);
    scene.send(500);
    expect_exact(scene);
    scene.stop_worker(worker);
}

TEST(RunCommand, ATableWithoutTheColumnStopsItsTopicUntilTheColumnIsThere) {
    CrashScene scene(support::seed());
    scene.database().execute("ALTER TABLE payments RENAME COLUMN account TO other");
    scene.send(500);
    ChildProcess worker = scene.start_worker();
    EXPECT_TRUE(scene.logged("account", patience)) << scene.last_log();
    EXPECT_TRUE(worker.running());
    EXPECT_EQ(scene.rows(), 0);
    scene.database().execute("ALTER TABLE payments RENAME COLUMN other TO account");
    expect_exact(scene);
    scene.stop_worker(worker);
}

TEST(RunCommand, DrainsOnSigtermAndLeavesAtOnceOnASecondOne) {
    SceneOptions options;
    options.drain_timeout = "20s";
    options.lock_timeout = "30s";
    options.kafka_properties = {{"max.poll.interval.ms", "60000"}};
    CrashScene scene(support::seed(), options);
    scene.send(1000);
    support::Database blocker(scene.server().dsn);
    blocker.execute("BEGIN; LOCK TABLE " + scene.schema() + ".payments");
    ChildProcess worker = scene.start_worker();
    const auto waits = [&] {
        return scene.database().number(
                   "SELECT count(*) FROM pg_locks WHERE NOT granted AND "
                   "relation = 'payments'::regclass") > 0;
    };
    ASSERT_TRUE(support::eventually(patience, waits)) << scene.last_log();
    worker.send(SIGTERM);
    EXPECT_FALSE(worker.wait(milliseconds(1500))) << "it did not wait for its batch";
    worker.send(SIGTERM);
    const std::optional<int> status = worker.wait(patience);
    ASSERT_TRUE(status) << scene.last_log();
    EXPECT_TRUE(WIFSIGNALED(*status)) << "its drain ended it, not the signal";
    blocker.execute("COMMIT");
    ChildProcess next = scene.start_worker();
    expect_exact(scene);
    scene.stop_worker(next);
}

TEST(RunCommand, ABatchInFlightLandsBeforeSigtermEndsIt) {
    SceneOptions options;
    options.drain_timeout = "20s";
    options.lock_timeout = "30s";
    options.kafka_properties = {{"max.poll.interval.ms", "60000"}};
    CrashScene scene(support::seed(), options);
    scene.send(200);
    support::Database blocker(scene.server().dsn);
    blocker.execute("BEGIN; LOCK TABLE " + scene.schema() + ".payments");
    ChildProcess worker = scene.start_worker();
    const auto waits = [&] {
        return scene.database().number(
                   "SELECT count(*) FROM pg_locks WHERE NOT granted AND "
                   "relation = 'payments'::regclass") > 0;
    };
    ASSERT_TRUE(support::eventually(patience, waits)) << scene.last_log();
    worker.send(SIGTERM);
    EXPECT_FALSE(worker.wait(milliseconds(300)));
    blocker.execute("COMMIT");
    const std::optional<int> status = worker.wait(patience);
    ASSERT_TRUE(status && WIFEXITED(*status));
    EXPECT_EQ(WEXITSTATUS(*status), 0);
    EXPECT_GT(scene.rows(), 0) << "the batch in flight was thrown away";
    ChildProcess next = scene.start_worker();
    expect_exact(scene);
    scene.stop_worker(next);
}

// PostgreSQL has a proxy that lets nothing through for longer than the time-outs.
TEST(RunCommand, ABlackHoleInFrontOfPostgresLosesNothing) {
    const std::string& dsn = support::postgres().dsn;
    support::CuttingProxy proxy(
        support::CuttingProxy::Protocol::postgres,
        static_cast<std::uint16_t>(std::stoi(dsn.substr(dsn.find("port=") + 5))));
    SceneOptions options;
    options.dsn_more = " connect_timeout=2 port=" + std::to_string(proxy.port());
    CrashScene scene(support::seed(), options);
    scene.send(1000);
    ChildProcess worker = scene.start_worker();
    ASSERT_TRUE(scene.drained(patience)) << scene.last_log();
    proxy.black_hole(true);
    scene.send(1000);
    EXPECT_FALSE(scene.drained(milliseconds(3000)));
    proxy.black_hole(false);
    expect_exact(scene);
    proxy.cut_all();
    scene.send(1000);
    expect_exact(scene);
    scene.stop_worker(worker);
}

}  // namespace
}  // namespace onceward::faults
