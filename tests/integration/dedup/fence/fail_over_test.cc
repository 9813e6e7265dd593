// A fail-over to a standby that lost the last commits, while two workers hold the same epoch.

#include "dedup/server/server_check.h"
#include "lab/embedded/private_postgres.h"
#include "tests/integration/dedup/core_fixture.h"
#include "tests/support/cutting_proxy.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

void expect_no_worker_begins_on(PrivatePostgres& standby) {
    ConnectionOptions read_only;
    read_only.dsn = standby.dsn();
    Connection connection(read_only);
    EXPECT_THROW(check_server(connection), PostgresError);
}

bool caught_up(Database& primary, Database& replica) {
    const std::string reached = primary.value("SELECT pg_current_wal_lsn()");
    return eventually(20s, [&] {
        return replica.value("SELECT pg_last_wal_replay_lsn() >= '" + reached + "'") == "t";
    });
}

// From here on the standby gets nothing: what commits now is lost.
bool stop_streaming(Database& replica) {
    replica.execute("ALTER SYSTEM SET primary_conninfo = ''");
    replica.execute("SELECT pg_reload_conf()");
    return eventually(
        20s, [&] { return replica.number("SELECT count(*) FROM pg_stat_wal_receiver") == 0; });
}

// The worker cannot hold the partition's fence for a batch that begins here.
void expect_missed(Connection& connection, CoreWorker& worker, int partition, std::int64_t begin) {
    const Span span{Partition{partition}, Offset{begin}, Offset{begin + 20}};
    OwnedTransaction transaction(connection);
    EXPECT_THAT(worker.fences().hold(transaction, "topic", std::span(&span, 1)),
                ElementsAre(Partition{partition}));
    transaction.commit();
}

// Everything goes through a proxy to the current primary, as through an address that
// moves.
CoreWorkerOptions options_of(LedgerCase ledger, const std::shared_ptr<LogWindows>& windows,
                             FreshSchema& schema, const std::string& name, int partition) {
    CoreWorkerOptions options;
    if (ledger != LedgerCase::table) options.store = StoreKind::log;
    if (ledger == LedgerCase::log_in_one_process) options.log_windows = windows;
    options.connection = schema.worker();
    options.name = name;
    options.partitions = {partition};
    options.batch_messages = 20;
    return options;
}

class FailOver : public testing::TestWithParam<LedgerCase> {};
TEST_P(FailOver, CommitsThatWereLostAreReadAgainAndNothingIsJumpedOver) {
    PrivatePostgres primary;
    create_worker_role(primary.dsn());
    PrivatePostgres standby = PrivatePostgres::standby_of(primary, {});
    CuttingProxy proxy(CuttingProxy::Protocol::postgres, primary.port());
    const std::string address = proxy.through(primary.dsn());
    std::optional<FreshSchema> on_primary(std::in_place, PostgresAddress{address, ""});
    FreshSchema& schema = *on_primary;
    const std::string table =
        schema.user_table("effects", std::string(effect_columns) + ", payload text");
    EffectSink sink(table);
    ScriptedLog log(2);
    for (const int partition : {0, 1}) append_keys(log, partition, "k", 200);
    const auto worker_options = [&, windows = std::make_shared<LogWindows>()](
                                    const std::string& name, int partition) {
        return options_of(GetParam(), windows, schema, name, partition);
    };
    CoreWorker first(log, sink, worker_options("first", 0));
    CoreWorker other(log, sink, worker_options("other", 1));
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(first.step());
        ASSERT_TRUE(other.step());
    }
    Database replica(standby.dsn());
    ASSERT_TRUE(caught_up(schema.database(), replica));
    expect_no_worker_begins_on(standby);
    ASSERT_TRUE(stop_streaming(replica));
    CoreWorker second(log, sink, worker_options("second", 0));
    for (int i = 0; i < 2; ++i) {
        ASSERT_TRUE(second.step());
        ASSERT_TRUE(other.step());
    }
    ASSERT_EQ(schema.database().number("SELECT next_offset FROM fences WHERE partition = 0"), 100);
    const std::int64_t lost_epoch =
        schema.database().number("SELECT epoch FROM fences WHERE partition = 0");
    ASSERT_TRUE(second.fill());  // reads 100..119, and does not know that 60..99 are lost

    primary.kill_now();
    proxy.set_target(standby.port());
    proxy.cut_all();
    standby.promote();
    on_primary->database() = Database(address);
    Database& database = on_primary->database();
    database.execute("SET search_path = " + schema.name());
    ASSERT_EQ(database.number("SELECT next_offset FROM fences WHERE partition = 0"), 60);

    // Another worker takes the partition on the new primary: the epoch is the one that was lost.
    CoreWorker third(log, sink, worker_options("third", 0));
    third.connect();
    third.take_fences();
    ASSERT_EQ(database.number("SELECT epoch FROM fences WHERE partition = 0"), lost_epoch);
    // What `second` has in memory moves nothing, at its own offset or at the row's.
    Connection connection(schema.worker());
    expect_missed(connection, second, 0, 100);
    expect_missed(connection, second, 0, 60);
    // Nor does `other`, whose row went back under its own id: only the offset tells it.
    expect_missed(connection, other, 1, 100);
    ASSERT_TRUE(third.step()) << "before any session noticed that the server is another one";
    third.assign({});
    ASSERT_TRUE(second.run());
    ASSERT_TRUE(other.run());
    ASSERT_TRUE(first.run());
    EXPECT_THAT(violations(schema, log, table), IsEmpty());
    std::cout << "lost by the fail-over and read again: partition 0 60..99, partition 1 60..99\n";
}

INSTANTIATE_TEST_SUITE_P(Ledgers, FailOver, every_ledger, name_of);

}  // namespace
}  // namespace onceward::support
