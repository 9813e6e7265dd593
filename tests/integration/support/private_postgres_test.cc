#include "lab/embedded/private_postgres.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/database.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres.h"

namespace onceward {
namespace {

using std::chrono::seconds;
using support::Database;
using support::DatabaseError;

TEST(PrivatePostgres, SyncsToDiskAsUsersDo) {
    Database database(support::postgres().dsn);
    EXPECT_EQ(database.value("SHOW fsync"), "on");
    EXPECT_EQ(database.value("SHOW synchronous_commit"), "on");
}

TEST(PrivatePostgres, WantsAPasswordAndListensOnLoopbackOnly) {
    PrivatePostgres server;
    EXPECT_THROW(Database(server.dsn_for("postgres", "wrong")), DatabaseError);
    Database database(server.dsn());
    EXPECT_EQ(database.value("SHOW listen_addresses"), "127.0.0.1");
    EXPECT_EQ(database.value("SHOW unix_socket_directories"), "");
}

TEST(PrivatePostgres, TheTestsConnectWithAPasswordOfOneRound) {
    const support::PostgresAddress& server = support::postgres();
    EXPECT_EQ(
        Database(server.dsn)
            .number("SELECT count(*) FROM pg_authid WHERE rolname = 'onceward_test_worker' AND "
                    "rolpassword LIKE 'SCRAM-SHA-256$1:%'"),
        1);
    EXPECT_NO_THROW(Database(server.worker_dsn));
    EXPECT_THROW(Database(server.worker_dsn + " password=wrong"), DatabaseError);
}

TEST(PrivatePostgres, LeavesNeitherAProcessNorAFolder) {
    pid_t process = 0;
    std::filesystem::path folder;
    {
        PrivatePostgres server;
        process = server.pid();
        folder = server.folder();
        EXPECT_TRUE(std::filesystem::exists(folder));
    }
    EXPECT_EQ(kill(process, 0), -1);
    EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(PrivatePostgres, KeepsWhatWasCommittedWhenItIsKilled) {
    PrivatePostgres server;
    Database(server.dsn()).execute("CREATE TABLE kept (id int); INSERT INTO kept VALUES (1)");
    server.kill_now();
    EXPECT_FALSE(server.running());
    EXPECT_THROW(Database(server.dsn()), DatabaseError);
    server.start();
    EXPECT_EQ(Database(server.dsn()).value("SELECT id FROM kept"), "1");
    server.restart(PrivatePostgres::Stop::immediate);
    EXPECT_EQ(Database(server.dsn()).value("SELECT id FROM kept"), "1");
}

TEST(PrivatePostgres, PromotesAStandbyThatHasWhatTheSynchronousPrimaryCommitted) {
    PrivatePostgres primary;
    PrivatePostgres::StandbyOptions options;
    options.synchronous = true;
    PrivatePostgres standby = PrivatePostgres::standby_of(primary, options);
    Database database(primary.dsn());
    ASSERT_TRUE(support::eventually(seconds(20), [&] {
        return database.number(
                   "SELECT count(*) FROM pg_stat_replication "
                   "WHERE sync_state = 'sync'") == 1;
    }));
    database.execute("CREATE TABLE kept (id int); INSERT INTO kept VALUES (1)");
    EXPECT_THROW(Database(standby.dsn()).execute("CREATE TABLE other (id int)"), DatabaseError);
    primary.kill_now();
    standby.promote();
    Database promoted(standby.dsn());
    EXPECT_EQ(promoted.value("SELECT id FROM kept"), "1");
    promoted.execute("INSERT INTO kept VALUES (2)");
}

TEST(PrivatePostgres, LosesOnAsynchronousPromotionWhatTheStandbyDidNotGet) {
    PrivatePostgres primary;
    Database(primary.dsn()).execute("CREATE TABLE kept (id int)");
    PrivatePostgres standby = PrivatePostgres::standby_of(primary, {});
    ASSERT_TRUE(support::eventually(seconds(20), [&] {
        return Database(primary.dsn()).number("SELECT count(*) FROM pg_stat_replication") == 1;
    }));
    standby.stop();
    Database(primary.dsn()).execute("INSERT INTO kept VALUES (1)");
    primary.kill_now();
    standby.start();
    standby.promote();
    EXPECT_EQ(Database(standby.dsn()).number("SELECT count(*) FROM kept"), 0);
}

// A process that is killed cannot clean up after itself: the kernel must do it.
TEST(PrivatePostgres, DiesWithTheProcessThatStartedIt) {
    int report[2];
    ASSERT_EQ(pipe(report), 0);
    const pid_t owner = fork();
    if (owner == 0) {
        PrivatePostgres server;
        const pid_t process = server.pid();
        if (write(report[1], &process, sizeof process) != sizeof process) _exit(1);
        pause();
        _exit(0);
    }
    close(report[1]);
    pid_t process = 0;
    ASSERT_EQ(read(report[0], &process, sizeof process), ssize_t{sizeof process});
    close(report[0]);
    EXPECT_EQ(kill(process, 0), 0);
    kill(owner, SIGKILL);
    waitpid(owner, nullptr, 0);
    EXPECT_TRUE(wait_until_gone(process, seconds(20)));
}

TEST(FreshSchema, GivesTheWorkerWhatItNeedsAndNoMore) {
    support::FreshSchema schema;
    const std::string table = schema.user_table("orders", "id bigint PRIMARY KEY");
    Database worker(schema.server().worker_dsn);
    worker.execute("INSERT INTO " + table + " VALUES (1)");
    EXPECT_EQ(worker.number("SELECT count(*) FROM " + schema.name() + ".fences"), 0);
    EXPECT_THROW(worker.execute("CREATE TABLE " + schema.name() + ".mine (id int)"), DatabaseError);
    EXPECT_THROW(worker.execute("DROP TABLE " + schema.name() + ".fences"), DatabaseError);
}

TEST(FreshSchema, IsGoneAfterwards) {
    std::string name;
    {
        const support::FreshSchema schema(support::postgres());
        name = schema.name();
    }
    Database database(support::postgres().dsn);
    EXPECT_EQ(database.value("SELECT to_regnamespace('" + name + "') IS NULL"), "t");
}

TEST(FreshSchema, ItsDatabaseIsGoneWhenTheNextOneIsThere) {
    std::string name;
    {
        support::FreshSchema schema;
        name = schema.database().value("SELECT current_database()");
    }
    const support::FreshSchema next;
    const bool copied = std::getenv("ONCEWARD_TEST_POSTGRES") == nullptr;
    EXPECT_EQ(Database(support::postgres().dsn)
                  .number("SELECT count(*) FROM pg_database WHERE datname = '" + name + "'"),
              copied ? 0 : 1);
}

TEST(FreshSchema, HasNothingOfTheTestBeforeIt) {
    {
        support::FreshSchema schema;
        schema.user_table("orders", "id bigint PRIMARY KEY");
        schema.database().execute("DELETE FROM schema_migrations");
    }
    support::FreshSchema next;
    EXPECT_EQ(next.database().value("SELECT to_regclass('orders') IS NULL"), "t");
    EXPECT_GT(next.database().number("SELECT count(*) FROM schema_migrations"), 0);
}

}  // namespace
}  // namespace onceward
