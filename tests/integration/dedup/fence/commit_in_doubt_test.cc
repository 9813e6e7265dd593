// A COMMIT whose answer never comes: cut at the bytes of the request or of the answer, 200 times.

#include "lab/embedded/private_postgres.h"
#include "tests/integration/dedup/core_fixture.h"
#include "tests/integration/dedup/cut_commits.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

class CommitInDoubt : public LedgerTest {};

TEST_P(CommitInDoubt, ResolvesItselfByTakingTheFenceAgain) {
    constexpr int rounds = 200;
    constexpr int batch = 5;
    ScriptedLog log(1);
    for (int i = 0; i < rounds * batch; ++i) {
        // Every third key again, so that a lost claim or one too many shows in the verdicts as
        // well.
        log.append(0, {.key = std::to_string(i % 3 == 2 ? i - 2 : i)});
    }
    CutCommits cuts(server_port());
    CoreWorkerOptions mine = cuts.through(options("in doubt"));
    mine.batch_messages = batch;
    CoreWorker worker(log, sink_, mine);
    int took_effect = 0;
    int rolled_back = 0;
    for (int round = 0; round < rounds; ++round) {
        worker.connect();
        worker.take_fences();
        const std::int64_t begin = worker.position(0).raw();
        if (!worker.fill()) {
            // All is in: more to read, so that there are as many faults as were asked for.
            append_keys(log, 0, "more" + std::to_string(round) + "-", batch);
            ASSERT_TRUE(worker.fill());
        }
        ASSERT_NO_FATAL_FAILURE(cuts.process(worker));
        // The server's own word, read after the row's lock and not by a bare SELECT.
        const std::int64_t now =
            database().number("SELECT next_offset FROM fences WHERE partition = 0 FOR UPDATE");
        EXPECT_EQ(now > begin, cuts.server_got_it());
        (now > begin ? took_effect : rolled_back) += 1;
    }
    ASSERT_TRUE(worker.run());
    std::cout << worker.in_doubt << " commits in doubt: " << took_effect << " took effect, "
              << rolled_back << " were rolled back\n";
    EXPECT_EQ(worker.in_doubt, rounds);
    EXPECT_GE(took_effect, 50);
    EXPECT_GE(rolled_back, 50);
    expect_no_violations(log);
}

// The peer is gone without a reset: the session's own limits notice, not the operator.
TEST_P(CommitInDoubt, AHoleInsteadOfAnAnswerIsLeftToo) {
    ScriptedLog log(1);
    append_keys(log, 0, "k", 10);
    CuttingProxy proxy(CuttingProxy::Protocol::postgres, server_port());
    std::atomic<bool> armed{false};
    proxy.on_commit([&](const ProxiedCommit& commit) {
        if (!armed || commit.application_name != "in doubt") return CommitFault::none;
        armed = false;
        return CommitFault::hole_after;
    });
    CoreWorkerOptions mine = options("in doubt");
    mine.connection.dsn = proxy.through(mine.connection.dsn.reveal());
    CoreWorker worker(log, sink_, mine);
    worker.connect();
    worker.take_fences();
    ASSERT_TRUE(worker.fill());
    armed = true;
    std::thread breaker([&] {
        // Here a proxy answers for the network, so that nobody's time-out sees the hole: end it by
        // hand.
        eventually(10s, [&] { return !armed; });
        eventually(200ms, [] { return false; });
        proxy.cut_all();
    });
    EXPECT_TRUE(worker.run());
    breaker.join();
    EXPECT_EQ(worker.in_doubt, 1);
    expect_no_violations(log);
}

// A COMMIT that waits for its standby is in the log, holds its locks, and is invisible: a SELECT
// would say that it never happened. The take-over waits for the lock, and so for its fate.
TEST(CommitWithoutItsStandby, IsDecidedByTheTakeOverAndNeverByASelect) {
    PrivatePostgres server;
    create_worker_role(server.dsn());
    FreshSchema schema(PostgresAddress{server.dsn(), ""});
    const std::string table =
        schema.user_table("effects", std::string(effect_columns) + ", payload text");
    EffectSink sink(table);
    ScriptedLog log(1);
    append_keys(log, 0, "k", 10);
    const auto options = [&](const std::string& name) {
        CoreWorkerOptions options;
        options.connection = schema.worker();
        options.name = name;
        return options;
    };
    CoreWorker worker(log, sink, options("first")), successor(log, sink, options("successor"));
    for (CoreWorker* each : {&successor, &worker}) {
        each->connect();
        each->take_fences();
    }
    successor.assign({});
    ASSERT_TRUE(worker.fill());
    const int pid = worker.connection().pid();
    Database& database = schema.database();
    const auto waiting = [&](const std::string& application, const std::string& event) {
        return database.number("SELECT count(*) FROM pg_stat_activity WHERE application_name = '" +
                               application + "' AND (wait_event = '" + event +
                               "' OR wait_event_type = '" + event + "')") == 1;
    };
    server.set("synchronous_standby_names", "missing");
    ASSERT_TRUE(commits_wait_for_a_standby(server.dsn()));
    std::thread first([&] {
        try {
            worker.process();
            ADD_FAILURE() << "the standby is missing, and the COMMIT was answered";
        } catch (const ProcessingError& error) {
            EXPECT_TRUE(error.diagnosis().in_doubt) << error.what();
            worker.handle(error, error.action);
        }
    });
    EXPECT_TRUE(eventually(10s, [&] { return waiting("first", "SyncRep"); }));
    EXPECT_EQ(database.number("SELECT next_offset FROM fences"), 0) << "a SELECT says no";
    std::thread second([&] {
        successor.assign({0});
        successor.take_fences();
    });
    EXPECT_TRUE(eventually(10s, [&] { return waiting("successor", "Lock"); }));
    database.execute("SELECT pg_terminate_backend(" + std::to_string(pid) + ")");
    first.join();
    EXPECT_TRUE(eventually(10s, [&] { return waiting("successor", "SyncRep"); }));
    server.set("synchronous_standby_names", "");
    second.join();
    EXPECT_EQ(successor.position(0), Offset{10});
    ASSERT_TRUE(successor.run());
    EXPECT_THAT(violations(schema, log, table), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Ledgers, CommitInDoubt, every_ledger, name_of);

}  // namespace
}  // namespace onceward::support
