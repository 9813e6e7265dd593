// No statement of ours switches statement_timeout off before COMMIT. The server must not apply it
// there: a COMMIT that is cancelled while it waits for a standby commits all the same, and a
// fail-over can lose it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "dedup/postgres/transaction.h"
#include "lab/embedded/private_postgres.h"
#include "tests/support/postgres.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

TEST(CommitTimeoutTest, ACommitWaitsForItsStandbyLongerThanAStatementMayTake) {
    PrivatePostgres server;
    create_worker_role(server.dsn());
    FreshSchema schema(PostgresAddress{server.dsn(), ""});
    const std::string insert =
        "INSERT INTO " + schema.user_table("numbers", "number integer") + " VALUES (1)";
    ConnectionOptions options = schema.worker();
    options.lock_timeout = 100ms;
    options.statement_timeout = 200ms;
    Connection alone(options);
    Connection in_round_trip(options);
    EXPECT_THAT(
        [&] { alone.execute("SELECT pg_sleep(5)"); },
        ::testing::Throws<PostgresError>(::testing::Property(&PostgresError::sqlstate, "57014")));

    server.set("synchronous_standby_names", "missing");
    ASSERT_TRUE(commits_wait_for_a_standby(server.dsn()));
    auto first = std::async(std::launch::async, [&] {
        OwnedTransaction transaction(alone);
        transaction.prepared(insert);
        transaction.commit();
    });
    auto second = std::async(std::launch::async, [&] {
        OwnedTransaction transaction(in_round_trip, OwnedTransaction::Begin::with_first);
        const Connection::Planned statement{insert, {}, {}};
        transaction.run_whole({&statement, 1}, {});
    });
    EXPECT_EQ(first.wait_for(1s), std::future_status::timeout);
    EXPECT_EQ(second.wait_for(0s), std::future_status::timeout);
    server.set("synchronous_standby_names", "");
    EXPECT_NO_THROW(first.get());
    EXPECT_NO_THROW(second.get());
}

}  // namespace
}  // namespace onceward::support
