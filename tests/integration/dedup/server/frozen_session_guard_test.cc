// The guard against clients that really froze: sessions that hold a lock and neither send nor read
// any more.

#include "dedup/server/frozen_session_guard.h"

#include <libpq-fe.h>

#include <future>

#include "dedup/postgres/transaction.h"
#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

enum class Frozen { between_statements, in_copy, in_pipeline, not_reading };
enum class Held { fence_row, advisory_lock, sink_row };

std::string case_name(const ::testing::TestParamInfo<std::tuple<Frozen, Held>>& parameters) {
    const char* const frozen[] = {"BetweenStatements", "InCopy", "InPipeline", "NotReading"};
    const char* const held[] = {"FenceRow", "AdvisoryLock", "SinkRow"};
    return std::string(frozen[static_cast<int>(std::get<0>(parameters.param))]) + "Holding" +
           held[static_cast<int>(std::get<1>(parameters.param))];
}

class GuardBase : public CoreTest {
  protected:
    GuardBase() {
        database().execute(
            "INSERT INTO effects (digest, key, partition, record_offset) VALUES "
            "(gen_random_uuid(), 'k', 0, 0); INSERT INTO fences (consumer_group, topic, partition, "
            "incarnation, owner, first_offset, next_offset) VALUES ('group', 'topic', 0, "
            "gen_random_uuid(), gen_random_uuid(), 0, 0)");
    }

    ConnectionOptions session(const std::string& name) {
        ConnectionOptions options = schema_.worker();
        options.application_name = name;
        return options;
    }
    FrozenSessionGuardOptions quick() { return {schema_.worker(), 400ms, 50ms, 300ms}; }

    std::string lock_statement(Held held) {
        switch (held) {
            case Held::fence_row: return "SELECT FROM " + schema_.name() + ".fences FOR UPDATE";
            case Held::advisory_lock: return "SELECT pg_advisory_xact_lock(1330524999, 1)";
            case Held::sink_row: return "UPDATE " + table_ + " SET payload = 'x'";
        }
        return "";
    }

    // Brings a session into that state. Nothing answers for it afterwards.
    void freeze(Connection& holder, Frozen frozen, const std::string& lock) {
        PGconn* raw = holder.raw();
        if (frozen == Frozen::in_pipeline) {
            PQenterPipelineMode(raw);
            for (const std::string& sql : {std::string("BEGIN"), lock}) {
                PQsendQueryParams(raw, sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0);
            }
            PQsendFlushRequest(raw);
            PQflush(raw);
            // Sent is not executed: on a busy machine the waiter could get the lock first.
            EXPECT_TRUE(eventually(10s, [&] {
                return database().number("SELECT count(*) FROM pg_locks WHERE granted AND "
                                         "locktype IN ('transactionid', 'advisory') AND pid = " +
                                         std::to_string(PQbackendPID(raw))) > 0;
            }));
            return;
        }
        holder.execute("BEGIN");
        holder.execute(lock);
        if (frozen == Frozen::in_copy) {
            holder.copy_begin("COPY " + table_ +
                              " (digest, key, partition, record_offset) FROM STDIN");
            holder.copy_send(one_row);
            PQflush(raw);
        }
        if (frozen == Frozen::not_reading) {
            // More than the buffers of both ends take.
            PQsendQuery(raw, "SELECT repeat('x', 1000000) FROM generate_series(1, 200)");
            PQflush(raw);
        }
    }

    // What a worker does that is in the way of: the same statement, which must get through.
    std::future<void> wait_for(Connection& waiter, Held held) {
        return std::async(std::launch::async, [this, &waiter, held] {
            OwnedTransaction transaction(waiter);
            transaction.query(lock_statement(held));
            transaction.commit();
        });
    }

    static constexpr std::string_view one_row = "00000000-0000-0000-0000-000000000000\tk\t0\t1\n";
};

class GuardTest : public GuardBase,
                  public ::testing::WithParamInterface<std::tuple<Frozen, Held>> {};

// Without the guard the waiter gives up after lock_timeout (10 s, 55P03), again and again.
TEST_P(GuardTest, EndsAFrozenSession) {
    const auto [frozen, held] = GetParam();
    Connection holder(session("holder"));
    freeze(holder, frozen, lock_statement(held));
    ASSERT_TRUE(eventually(10s, [&] {
        return database().number(
                   "SELECT count(*) FROM pg_stat_activity WHERE application_name = "
                   "'holder' AND wait_event_type = 'Client' AND xact_start IS NOT "
                   "NULL") == 1;
    }));
    FrozenSessionGuard guard(quick());
    Connection waiter(session("waiter"));
    guard.watch(waiter.pid());
    EXPECT_NO_THROW(wait_for(waiter, held).get());
    EXPECT_TRUE(eventually(5s, [&] { return guard.ended() >= 1; }));
}

INSTANTIATE_TEST_SUITE_P(
    Everywhere, GuardTest,
    ::testing::Combine(::testing::Values(Frozen::between_statements, Frozen::in_copy,
                                         Frozen::in_pipeline, Frozen::not_reading),
                       ::testing::Values(Held::fence_row, Held::advisory_lock, Held::sink_row)),
    case_name);

class GuardRules : public GuardBase {};

// A healthy COPY waits for its client as well; that it moves is what tells it from a frozen one.
TEST_F(GuardRules, LeavesASlowCopyAlone) {
    Connection holder(session("holder"));
    freeze(holder, Frozen::in_copy, lock_statement(Held::fence_row));
    FrozenSessionGuard guard(quick());
    Connection waiter(session("waiter"));
    guard.watch(waiter.pid());
    std::future<void> waited = wait_for(waiter, Held::fence_row);
    ASSERT_TRUE(eventually(10s, [&] { return waits_for_lock("waiter"); }));
    for (int row = 0; row < 30; ++row) {
        holder.copy_send(one_row);
        PQflush(holder.raw());
        eventually(80ms, [] { return false; });
    }
    EXPECT_EQ(guard.ended(), 0U);
    EXPECT_EQ(holder.copy_end(), 31);
    holder.execute("COMMIT");
    EXPECT_NO_THROW(waited.get());
    EXPECT_EQ(guard.ended(), 0U);
}

// The second waiter for a row sees only the first one: the holder is found by walking on.
TEST_F(GuardRules, FindsAHolderBehindAnotherWaiter) {
    Connection holder(session("holder"));
    freeze(holder, Frozen::in_copy, lock_statement(Held::sink_row));
    Connection first(session("first"));
    std::future<void> first_waits = wait_for(first, Held::sink_row);
    ASSERT_TRUE(eventually(10s, [&] { return waits_for_lock("first"); }));
    FrozenSessionGuard guard(quick());
    Connection second(session("second"));
    guard.watch(second.pid());  // the first one is another process's
    std::future<void> second_waits = wait_for(second, Held::sink_row);
    ASSERT_TRUE(eventually(10s, [&] { return waits_for_lock("second"); }));
    const std::string direct =
        database().value("SELECT pg_blocking_pids(" + std::to_string(second.pid()) + ")::text");
    EXPECT_EQ(direct, "{" + std::to_string(first.pid()) + "}") << "the test is about a chain";
    EXPECT_NO_THROW(second_waits.get());
    EXPECT_NO_THROW(first_waits.get());
    EXPECT_TRUE(eventually(5s, [&] { return guard.ended() >= 1; }));
}

TEST_F(GuardRules, OnlyAlertsOnAnotherRolesSession) {
    database().execute("BEGIN");
    database().execute(lock_statement(Held::fence_row));
    FrozenSessionGuard guard(quick());
    Connection waiter(session("waiter"));
    guard.watch(waiter.pid());
    std::future<void> waited = wait_for(waiter, Held::fence_row);
    EXPECT_TRUE(eventually(5s, [&] { return guard.alerts() == 1; }));
    eventually(1s, [&] { return guard.ended() > 0; });
    EXPECT_EQ(guard.alerts(), 1U) << "one alert for a holder, not one a look";
    EXPECT_EQ(guard.ended(), 0U);
    database().execute("COMMIT");
    EXPECT_NO_THROW(waited.get());
}

TEST_F(GuardRules, LooksOnlyAfterItsOwnSessions) {
    Connection holder(session("holder"));
    freeze(holder, Frozen::in_copy, lock_statement(Held::fence_row));
    FrozenSessionGuard guard(quick());
    Connection waiter(session("waiter"));
    guard.watch(waiter.pid());
    guard.forget(waiter.pid());
    std::future<void> waited = wait_for(waiter, Held::fence_row);
    ASSERT_TRUE(eventually(10s, [&] { return waits_for_lock("waiter"); }));
    eventually(1500ms, [&] { return guard.ended() > 0; });
    EXPECT_EQ(guard.ended(), 0U);
    guard.watch(waiter.pid());
    EXPECT_NO_THROW(waited.get());
}

TEST_F(GuardRules, SurvivesTheLossOfItsOwnSession) {
    FrozenSessionGuardOptions options = quick();
    FrozenSessionGuard guard(options);
    const std::string guards =
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = "
        "'onceward guard'";
    ASSERT_TRUE(eventually(10s, [&] { return database().number(guards) == 1; }));
    database().execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "
        "'onceward guard'");
    Connection holder(session("holder"));
    freeze(holder, Frozen::in_pipeline, lock_statement(Held::fence_row));
    Connection waiter(session("waiter"));
    guard.watch(waiter.pid());
    EXPECT_NO_THROW(wait_for(waiter, Held::fence_row).get());
    EXPECT_TRUE(eventually(5s, [&] { return guard.ended() >= 1; }));
}

// A COMMIT ended by the guard is only in doubt: the frozen worker wakes, and nothing is lost or
// applied twice.
TEST_F(GuardRules, AWorkerThatWasFrozenWakesAndCommitsNothing) {
    database().execute("DELETE FROM fences; DELETE FROM effects");
    ScriptedLog log(1);
    append_keys(log, 0, "k", 50);
    FrozenSessionGuard guard(quick());
    CoreWorkerOptions successor_options = options("successor");
    successor_options.guard = &guard;
    CoreWorker successor(log, sink_, successor_options);
    bool froze = false;
    StepHook freeze_here([&](Step step) {
        if (step != Step::after_sink || froze) return;
        froze = true;
        EXPECT_TRUE(successor.run());
    });
    CoreWorkerOptions frozen_options = options("frozen");
    frozen_options.observer = &freeze_here;
    frozen_options.connection.idle_in_transaction_timeout = 60s;
    CoreWorker frozen(log, sink_, frozen_options);
    EXPECT_TRUE(frozen.run());
    EXPECT_TRUE(eventually(5s, [&] { return guard.ended() >= 1; }));
    EXPECT_EQ(successor.totals.applied, 50);
    EXPECT_EQ(frozen.totals.applied, 0);
    expect_no_violations(log);
}

}  // namespace
}  // namespace onceward::support
