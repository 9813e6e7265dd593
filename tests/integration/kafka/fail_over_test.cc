// A fail-over as users have it: both hosts in the connection string, and a replica that did not get
// the last commits.

#include <gtest/gtest.h>

#include "lab/embedded/private_postgres.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"

namespace onceward::kafka_tests {
namespace {

using support::Database;
using support::eventually;

bool caught_up(Database& primary, Database& replica) {
    const std::string reached = primary.value("SELECT pg_current_wal_lsn()");
    return eventually(patience, [&] {
        return replica.value("SELECT pg_last_wal_replay_lsn() >= '" + reached + "'") == "t";
    });
}

// From here on the standby gets nothing: what commits now is lost.
bool stop_streaming(Database& replica) {
    replica.execute("ALTER SYSTEM SET primary_conninfo = ''");
    replica.execute("SELECT pg_reload_conf()");
    return eventually(
        patience, [&] { return replica.number("SELECT count(*) FROM pg_stat_wal_receiver") == 0; });
}

TEST(FailOverWithTwoHosts, WhatTheReplicaLostIsReadAgainAndAppliedOnce) {
    PrivatePostgres primary;
    support::create_worker_role(primary.dsn());
    PrivatePostgres standby = PrivatePostgres::standby_of(primary, {});
    SceneOptions options;
    // The standby stands first: who takes no writes is passed over.
    options.postgres = {
        primary.dsn() + " host=127.0.0.1,127.0.0.1 port=" + std::to_string(standby.port()) + "," +
            std::to_string(primary.port()) + " target_session_attrs=read-write connect_timeout=2",
        ""};
    Scene scene(options);
    WorkerOptions worker_options = scene.options();
    worker_options.batch.messages = 20;
    scene.start(std::move(worker_options));
    scene.send(200);
    ASSERT_TRUE(scene.all_applied());
    Database replica(standby.dsn());
    ASSERT_TRUE(caught_up(scene.database(), replica));
    ASSERT_TRUE(stop_streaming(replica));
    scene.send(300);
    ASSERT_TRUE(scene.all_applied());
    const std::string next_offset =
        "SELECT next_offset FROM " + scene.schema().name() + ".fences WHERE partition = 0";
    ASSERT_EQ(scene.database().number(next_offset), 500);
    ASSERT_EQ(replica.number(next_offset), 200) << "the test is about commits that get lost";

    primary.kill_now();
    scene.send(100);
    standby.promote();
    scene.reconnect();
    scene.expect_all_once();
    EXPECT_EQ(scene.database().number(next_offset), 600);
    EXPECT_EQ(scene.database().number("SELECT count(*) FROM dead_letters"), 0);
    scene.stop_all();
    scene.schema().database() = Database(standby.dsn());
    scene.schema().database().execute("SET search_path = " + scene.schema().name());
}

}  // namespace
}  // namespace onceward::kafka_tests
