// once(): a call and its result are committed together, once for each key.

#include "dedup/once.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "dedup/retention/retention.h"
#include "dedup/server/server_check.h"
#include "tests/support/cutting_proxy.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

class OnceTest : public ::testing::Test {
  protected:
    // Inserts a row and answers with `paid KEY`.
    OnceFunction pay(const std::string& key) {
        return [this, key](Transaction& transaction) {
            ++calls_;
            transaction.query("INSERT INTO " + table_ + " (key) VALUES ($1)",
                              Parameters{}.text(key));
            return MessageResult{.status = 201, .body = "paid " + key};
        };
    }
    OnceAnswer call(const std::string& key, std::optional<Digest> fingerprint = std::nullopt) {
        return once(connection_, {"pay", "", key, fingerprint}, ledger_, pay(key));
    }
    Database& database() { return schema_.database(); }
    std::int64_t effects() { return database().number("SELECT count(*) FROM " + table_); }
    std::int64_t results() { return database().number("SELECT count(*) FROM results_1_1"); }

    FreshSchema schema_;
    std::string table_ = schema_.user_table("payments", "key text CHECK (key <> 'refused')");
    Connection connection_{schema_.worker()};
    OnceLedger ledger_{connection_, {}};
    std::atomic<int> calls_{0};
};

using Kind = OnceAnswer::Kind;

TEST_F(OnceTest, ASecondCallGetsTheStoredResult) {
    const OnceAnswer first = call("a");
    EXPECT_EQ(first.kind, Kind::applied);
    EXPECT_EQ(first.result.body, "paid a");
    const OnceAnswer again = call("a");
    EXPECT_EQ(again.kind, Kind::replayed);
    EXPECT_EQ(again.result, first.result);
    EXPECT_EQ(call("b").kind, Kind::applied);
    EXPECT_EQ(calls_, 2);
    EXPECT_EQ(effects(), 2);
    EXPECT_FALSE(connection_.in_transaction());
}

TEST_F(OnceTest, AlsoAnotherSessionAndALedgerThatIsRegisteredAnew) {
    call("a");
    Connection other(schema_.worker());
    const OnceAnswer again =
        once(other, {.operation = "pay", .text = "a"}, OnceOptions{}, pay("a"));
    EXPECT_EQ(again.kind, Kind::replayed);
    EXPECT_EQ(effects(), 1);
}

TEST_F(OnceTest, OperationTenantAndLedgerArePartsOfTheKey) {
    const auto kind = [&](const OnceKey& key, const OnceLedger& ledger) {
        return once(connection_, key, ledger, pay("x")).kind;
    };
    EXPECT_EQ(kind({"pay", "acme", "a"}, ledger_), Kind::applied);
    EXPECT_EQ(kind({"pay", "other", "a"}, ledger_), Kind::applied);
    EXPECT_EQ(kind({"refund", "acme", "a"}, ledger_), Kind::applied);
    EXPECT_EQ(kind({"pay", "acme", "a"}, ledger_), Kind::replayed);
    const OnceLedger second(connection_, {.ledger = "second"});
    EXPECT_EQ(kind({"pay", "acme", "a"}, second), Kind::applied);
    EXPECT_EQ(database().number("SELECT count(*) FROM results_1_1 WHERE tenant = 'acme'"), 2);
}

TEST_F(OnceTest, AKeyThatCannotBeIsRefusedBeforeAnything) {
    for (const std::string& key : {std::string(), std::string(256, 'k'), std::string("a\0b", 3)}) {
        EXPECT_THROW(call(key), std::invalid_argument);
    }
    EXPECT_THROW(once(connection_, {"", "", "a"}, ledger_, pay("a")), std::invalid_argument);
    EXPECT_EQ(calls_, 0);
}

TEST_F(OnceTest, TheSameKeyWithAnotherFingerprintIsAConflict) {
    EXPECT_EQ(call("a", digest_of_bytes("1")).kind, Kind::applied);
    EXPECT_EQ(call("a", digest_of_bytes("2")).kind, Kind::conflict);
    EXPECT_EQ(call("a", digest_of_bytes("1")).kind, Kind::replayed);
    EXPECT_EQ(effects(), 1);
}

TEST_F(OnceTest, AnExceptionLeavesNothingAndTheKeyFree) {
    const auto fails = [&](Transaction& transaction) -> MessageResult {
        pay("a")(transaction);
        throw std::runtime_error("the test's own");
    };
    EXPECT_THROW(once(connection_, {"pay", "", "a"}, ledger_, fails), std::runtime_error);
    EXPECT_EQ(effects(), 0);
    EXPECT_EQ(results(), 0);
    EXPECT_EQ(database().number("SELECT count(*) FROM claims_1_1"), 0);
    EXPECT_EQ(call("a").kind, Kind::applied);
}

TEST_F(OnceTest, SoDoesARowThatPostgresRefuses) {
    EXPECT_THROW(call("refused"), PostgresError);
    EXPECT_EQ(calls_, 1) << "another try would refuse it as well";
    EXPECT_EQ(results(), 0);
    EXPECT_EQ(call("a").kind, Kind::applied);
}

// A caught error has aborted the transaction: its COMMIT would roll back without a word.
TEST_F(OnceTest, AnErrorThatTheFunctionSwallowedIsNoSuccess) {
    const auto swallows = [&](Transaction& transaction) {
        try {
            pay("refused")(transaction);
        } catch (const PostgresError&) {
        }
        return MessageResult{};
    };
    EXPECT_THROW(once(connection_, {"pay", "", "a"}, ledger_, swallows), PostgresError);
    EXPECT_EQ(results(), 0);
}

class CardDeclined : public PermanentFailure {
  public:
    using PermanentFailure::PermanentFailure;
};

TEST_F(OnceTest, APermanentFailureIsStoredAndThrownAgain) {
    const auto declines = [&](Transaction& transaction) -> MessageResult {
        pay("a")(transaction);
        throw CardDeclined("the card was declined", {.status = 402, .body = "{}"});
    };
    try {
        once(connection_, {"pay", "", "a"}, ledger_, declines);
        FAIL() << "nothing was thrown";
    } catch (const CardDeclined& failure) {
        EXPECT_FALSE(failure.replayed());
        EXPECT_STREQ(failure.what(), "the card was declined");
    }
    EXPECT_EQ(effects(), 0) << "its effects are rolled back";
    EXPECT_EQ(results(), 1);
    try {
        call("a");
        FAIL() << "nothing was thrown";
    } catch (const PermanentFailure& failure) {
        EXPECT_TRUE(failure.replayed());
        EXPECT_EQ(failure.result().status, 402);
        EXPECT_EQ(failure.result().body, "{}");
        EXPECT_EQ(failure.result().kind, MessageResult::Kind::failed);
    }
    EXPECT_EQ(calls_, 1);
    EXPECT_EQ(effects(), 0);
}

TEST_F(OnceTest, CallersOfOneKeyAtOnceGetOneEffectAndOneAnswer) {
    constexpr int callers = 12;
    constexpr int rounds = 20;
    std::atomic<int> applied{0}, replayed{0}, others{0};
    std::vector<std::thread> threads;
    std::latch ready(callers);
    for (int caller = 0; caller < callers; ++caller) {
        threads.emplace_back([&] {
            Connection mine(schema_.worker());
            ready.arrive_and_wait();
            for (int round = 0; round < rounds; ++round) {
                const std::string key = "k" + std::to_string(round);
                const OnceAnswer answer = once(mine, {"pay", "", key}, ledger_, pay(key));
                const bool right = answer.result.body == "paid " + key;
                if (right && answer.kind == Kind::applied) ++applied;
                if (right && answer.kind == Kind::replayed) ++replayed;
                if (!right) ++others;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(applied, rounds);
    EXPECT_EQ(replayed, rounds * (callers - 1));
    EXPECT_EQ(others, 0);
    EXPECT_EQ(effects(), rounds);
}

TEST_F(OnceTest, WhoWaitsForAFirstCallThatFailsIsTheFirst) {
    std::latch begun(1);
    std::atomic<bool> go{false};
    std::thread first([&] {
        Connection mine(schema_.worker());
        EXPECT_THROW(once(mine, {"pay", "", "a"}, ledger_,
                          [&](Transaction&) -> MessageResult {
                              begun.count_down();
                              eventually(20s, [&] { return go.load(); });
                              throw std::runtime_error("the test's own");
                          }),
                     std::runtime_error);
    });
    begun.wait();
    std::thread second([&] {
        Connection mine(schema_.worker());
        EXPECT_EQ(once(mine, {"pay", "", "a"}, ledger_, pay("a")).kind, Kind::applied);
    });
    EXPECT_TRUE(eventually(20s, [&] {
        return database().number(
                   "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") > 0;
    }));
    go = true;
    first.join();
    second.join();
    EXPECT_EQ(effects(), 1);
}

// Whether it took effect or not: one effect, and this is no replay.
TEST_F(OnceTest, ACommitInDoubtIsResolvedByTheAttemptsOwnId) {
    const auto port = static_cast<std::uint16_t>(database().number("SELECT inet_server_port()"));
    CommitTrap trap(port);
    ConnectionOptions through = schema_.worker();
    through.dsn = trap.proxy.through(through.dsn.reveal());
    Connection cut(through);
    int number = 0;
    for (const CommitFault fault : {CommitFault::cut_before, CommitFault::cut_inside_request,
                                    CommitFault::cut_after, CommitFault::cut_inside_answer}) {
        const std::string key = "k" + std::to_string(++number);
        trap.armed = fault;
        const OnceAnswer answer = once(cut, {"pay", "", key}, ledger_, pay(key));
        EXPECT_EQ(trap.armed, CommitFault::none) << "the fault was not injected";
        EXPECT_EQ(answer.kind, Kind::applied);
        EXPECT_EQ(answer.result.body, "paid " + key);
        EXPECT_EQ(effects(), number);
        EXPECT_EQ(call(key).kind, Kind::replayed);
    }
    EXPECT_EQ(calls_, 6) << "the first two came to nothing, and were made again";
}

TEST_F(OnceTest, AResultThatIsTooLargeIsRejectedWithItsEffectOrLosesItsBody) {
    OnceOptions options{.ledger = "small"};
    options.limits.max_bytes = 4;
    const OnceLedger dropping(connection_, options);
    const OnceAnswer first = once(connection_, {"pay", "", "a"}, dropping, pay("a"));
    EXPECT_EQ(first.result.body, "");
    EXPECT_EQ(once(connection_, {"pay", "", "a"}, dropping, pay("a")).result, first.result);
    options.limits.on_too_large = ResultLimits::TooLarge::reject;
    const OnceLedger rejecting(connection_, options);
    EXPECT_THROW(once(connection_, {"pay", "", "b"}, rejecting, pay("b")), std::length_error);
    EXPECT_EQ(effects(), 1);
}

TEST_F(OnceTest, AKeyThatWasClaimedWithoutAResultIsKnownAndNoMore) {
    call("a");
    database().execute("DELETE FROM results_1_1");
    EXPECT_EQ(call("a").kind, Kind::unknown);
    EXPECT_EQ(effects(), 1);
}

// Nobody passes a log here: the clock alone moves the watermark.
TEST_F(OnceTest, ResultsExpireByTheClockLessTheLongestRequest) {
    call("a");
    const LedgerOptions ledger = ledger_.ledger_options();
    database().execute("SELECT rotate_ledger(1, 1)");
    RetentionJob job({.connection = schema_.worker(), .ledgers = {ledger}});
    EXPECT_EQ(job.look(connection_, ledger).unlisted, 0);
    const auto age = [&](const std::string& ago) {
        database().execute(
            "UPDATE generations SET created_at = now() - interval '2 days', "
            "sealed_at = clock_timestamp() - $1::interval WHERE generation = 1",
            {ago});
    };
    age("24 hours 30 seconds");
    EXPECT_EQ(job.look(connection_, ledger).unlisted, 0) << "a request may still be under way";
    age("24 hours 90 seconds");
    EXPECT_EQ(job.look(connection_, ledger).unlisted, 1);
    EXPECT_EQ(job.look(connection_, ledger).dropped, 1);
    EXPECT_EQ(database().value("SELECT to_regclass('results_1_1') IS NULL"), "t");
    EXPECT_EQ(call("a").kind, Kind::applied);
}

TEST_F(OnceTest, StatementsOfEarlierGenerationsDoNotGatherInASession) {
    for (int i = 0; i < 250; ++i) connection_.prepared("SELECT " + std::to_string(i), {});
    EXPECT_EQ(call("a").kind, Kind::applied);
    EXPECT_LT(connection_.prepared_statements(), 20U);
    EXPECT_EQ(call("a").kind, Kind::replayed);
}

// It computes between two statements, for longer than a session may usually be idle.
TEST_F(OnceTest, AFunctionMayComputeBetweenItsStatementsForAsLongAsACallMayTake) {
    ConnectionOptions options = schema_.worker();
    options.idle_in_transaction_timeout = 300ms;
    Connection connection(options);
    const OnceAnswer answer = once(connection, {"pay", "", "slow"}, ledger_, [&](Transaction& in) {
        const std::string pid = std::to_string(in.connection().pid());
        // Until the server has seen it idle for longer, or has ended it.
        EXPECT_TRUE(eventually(20s, [&] {
            return database().number("SELECT count(*) FROM pg_stat_activity WHERE pid = " + pid +
                                     " AND clock_timestamp() - state_change < '1s'") == 0;
        }));
        return pay("slow")(in);
    });
    EXPECT_EQ(answer.kind, Kind::applied);
    EXPECT_EQ(calls_, 1) << "it was not begun again";
    EXPECT_EQ(connection.query("SHOW idle_in_transaction_session_timeout", {}).text(0, 0), "300ms");
}

// A session of the service's own may differ from the one that the ledger was made with.
TEST_F(OnceTest, ASessionWhoseCommitsACrashMayLoseIsRefused) {
    ConnectionOptions losing = schema_.worker();
    losing.dsn = losing.dsn.reveal() + " options='-c synchronous_commit=off'";
    Connection session(losing);
    EXPECT_THROW(OnceLedger(session, {}), ServerRefused);
    EXPECT_THROW(once(session, {"pay", "", "a"}, ledger_, pay("a")), ServerRefused);
    EXPECT_EQ(effects(), 0);
    EXPECT_EQ(call("a").kind, Kind::applied);
}

TEST_F(OnceTest, APoolerIsRefused) {
    const auto port = static_cast<std::uint16_t>(database().number("SELECT inet_server_port()"));
    CuttingProxy proxy(CuttingProxy::Protocol::postgres, port);
    proxy.answer_with_own_process_id(true);
    ConnectionOptions through = schema_.worker();
    through.dsn = through.dsn.reveal() +
                  " sslmode=disable host=127.0.0.1 port=" + std::to_string(proxy.port());
    const auto pooled = [&] {
        Connection session(through);
        once(session, {"pay", "", "a"}, ledger_, pay("a"));
    };
    EXPECT_THROW(pooled(), ServerRefused);
    EXPECT_EQ(effects(), 0);
}

// A fail-over has lost the registration, and its number went to another ledger of the same store.
TEST_F(OnceTest, ALedgerThatAFailOverLostIsRegisteredAgain) {
    call("a");
    // Numbers from 1 to `foreign` are those of other ledgers then.
    const auto lose = [&](int foreign) {
        database().execute(
            "DO $$ DECLARE made text; BEGIN FOR made IN SELECT tablename FROM pg_tables WHERE "
            "schemaname = current_schema() AND tablename ~ '^(claims|results)_[0-9]' LOOP "
            "EXECUTE 'DROP TABLE ' || made; END LOOP; END $$; "
            "TRUNCATE ledgers, ledger_feeds, generations RESTART IDENTITY CASCADE");
        Connection others(schema_.worker());
        for (int number = 1; number <= foreign; ++number) {
            const OnceLedger other(others, {.ledger = "foreign " + std::to_string(number)});
            ASSERT_EQ(other.registered().ledger, number);
        }
    };
    const auto claims = [&](int ledger) {
        return database().number("SELECT count(*) FROM claims_" + std::to_string(ledger) + "_1");
    };
    lose(1);
    database().execute("SELECT pg_terminate_backend(" + std::to_string(connection_.pid()) + ")");
    EXPECT_EQ(call("b").kind, Kind::applied) << "its session was lost";
    EXPECT_EQ(claims(1), 0);
    EXPECT_EQ(claims(2), 1);
    EXPECT_EQ(call("b").kind, Kind::replayed);
    lose(2);
    Connection fresh(schema_.worker());
    EXPECT_EQ(once(fresh, {"pay", "", "c"}, ledger_, pay("c")).kind, Kind::applied)
        << "the service made a new session by itself";
    EXPECT_EQ(claims(2), 0);
    EXPECT_EQ(claims(3), 1);
    lose(0);
    Connection later(schema_.worker());
    EXPECT_EQ(once(later, {"pay", "", "d"}, ledger_, pay("d")).kind, Kind::applied)
        << "no ledger has the number";
    EXPECT_EQ(effects(), 4);
}

TEST_F(OnceTest, ALedgerOfPartitionsIsRefused) {
    LedgerOptions ledger;
    ledger.store = StoreKind::log;
    ledger.reach = Reach::partition;
    EXPECT_THROW(register_requests(connection_, ledger, "service", "name", 1s),
                 std::invalid_argument);
}

}  // namespace
}  // namespace onceward::support
