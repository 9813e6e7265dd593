// once(): one effect for each key, also if a COMMIT has no answer.

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <future>
#include <thread>

#include "inbox/cpp/once.h"
#include "support.h"

namespace onceward::pqxx {
namespace {

using namespace std::chrono_literals;

class Once : public ::testing::Test {
  protected:
    static void SetUpTestSuite() { set_up_database(); }

    OnceAnswer pay(const std::function<void(::pqxx::transaction_base&)>& then = {},
                   OnceOptions options = {.pause = 1ms}) {
        return once(
            connect_, inbox_, "order-17",
            [&](::pqxx::transaction_base& transaction) -> Result {
                ++runs_;
                add_effect(transaction, operation_);
                if (then) then(transaction);
                return {.status = 201,
                        .headers = {{"content-type", "text/plain"}},
                        .body = "paid in run " + std::to_string(runs_)};
            },
            options);
    }
    // A function that the database calls at COMMIT of a transaction with an effect of this test.
    void at_commit(const std::string& body) {
        const auto number = std::hash<std::string>{}(operation_);
        const std::string name = "cpp_commit_" + std::to_string(number);
        execute("CREATE TABLE " + name + " ()");
        execute("CREATE FUNCTION " + name + "_do() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " +
                body + "; RETURN NULL; END $$");
        execute("CREATE CONSTRAINT TRIGGER t AFTER INSERT ON " + name +
                " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION " + name + "_do()");
        statement_ = "INSERT INTO " + name + " DEFAULT VALUES";
    }

    const std::string operation_ = new_operation();
    const Inbox inbox_{.operation = operation_, .ledger = "cpp_calls"};
    Connect connect_ = reconnecting(dsn());
    std::atomic<int> runs_ = 0;
    std::string statement_;
};

TEST_F(Once, RunsOnceAndAnswersWithTheStoredResult) {
    const OnceAnswer first = pay();
    EXPECT_EQ(first.outcome, Outcome::fresh);
    EXPECT_FALSE(first.replayed);
    for (int i = 0; i < 2; ++i) {
        const OnceAnswer again = pay();
        EXPECT_EQ(again.outcome, Outcome::duplicate);
        EXPECT_TRUE(again.replayed);
        EXPECT_EQ(again.result.status, 201);
        EXPECT_EQ(again.result.body, "paid in run 1");
        EXPECT_EQ(again.result.headers, first.result.headers);
    }
    EXPECT_EQ(runs_, 1);
    EXPECT_EQ(effects(operation_), 1);
}

TEST_F(Once, WithAnotherFingerprintIsAConflict) {
    pay({}, {.fingerprint = fingerprint_of("1")});
    EXPECT_EQ(pay({}, {.fingerprint = fingerprint_of("2")}).outcome, Outcome::conflict);
    EXPECT_EQ(runs_, 1);
}

TEST_F(Once, AnExceptionLeavesNothingAndTheKeyFree) {
    EXPECT_THROW(pay([](auto&) { throw std::logic_error("broken"); }), std::logic_error);
    EXPECT_EQ(effects(operation_), 0);
    EXPECT_EQ(pay().outcome, Outcome::fresh);
    EXPECT_EQ(effects(operation_), 1);
}

TEST_F(Once, AFailureIsStoredWithoutItsEffects) {
    const auto fail = [](auto&) { throw Failed({.status = 402, .body = "no funds"}); };
    const OnceAnswer first = pay(fail);
    EXPECT_EQ(first.outcome, Outcome::failed);
    EXPECT_FALSE(first.replayed);
    EXPECT_EQ(effects(operation_), 0);
    const OnceAnswer again = pay(fail);
    EXPECT_EQ(again.outcome, Outcome::failed);
    EXPECT_TRUE(again.replayed);
    EXPECT_EQ(again.result.status, 402);
    EXPECT_EQ(again.result.body, "no funds");
    EXPECT_EQ(runs_, 1);
}

// The server is in COMMIT when the connection is cut, and finishes it.
TEST_F(Once, ACommitWhoseAnswerIsLostIsTheCallsOwnResult) {
    at_commit("PERFORM pg_advisory_xact_lock(17171717)");
    ::pqxx::connection holder(dsn());
    ::pqxx::nontransaction lock(holder);
    lock.exec("SELECT pg_advisory_lock(17171717)");
    std::future<void> cut;
    const OnceAnswer answer = pay([&](::pqxx::transaction_base& transaction) {
        transaction.exec(statement_);
        if (runs_ > 1) return;
        cut = std::async(std::launch::async, [&, pid = transaction.conn().backendpid(),
                                              socket = transaction.conn().sock()] {
            while (lock.query_value<int>("SELECT count(*) FROM pg_stat_activity WHERE pid = $1 "
                                         "AND query = 'COMMIT' AND wait_event = 'advisory'",
                                         ::pqxx::params{pid}) == 0) {
            }
            ::shutdown(socket, SHUT_RDWR);
            lock.exec("SELECT pg_advisory_unlock(17171717)");
        });
    });
    cut.get();
    EXPECT_EQ(answer.outcome, Outcome::fresh);
    EXPECT_FALSE(answer.replayed);
    EXPECT_EQ(answer.result.body, "paid in run 1");
    EXPECT_EQ(runs_, 1);
    EXPECT_EQ(effects(operation_), 1);
}

TEST_F(Once, ACommitThatDidNotHappenIsRunAgain) {
    at_commit("IF NOT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'second') "
              "THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF");
    const OnceAnswer answer = pay([&](::pqxx::transaction_base& transaction) {
        transaction.exec(statement_);
        if (runs_ > 1) transaction.exec("SET application_name = 'second'");
    });
    EXPECT_EQ(answer.outcome, Outcome::fresh);
    EXPECT_EQ(answer.result.body, "paid in run 2");
    EXPECT_EQ(effects(operation_), 1);
}

TEST_F(Once, TheTriesAreBounded) {
    at_commit("PERFORM pg_terminate_backend(pg_backend_pid())");
    EXPECT_THROW(pay([&](auto& transaction) { transaction.exec(statement_); },
                     {.tries = 3, .pause = 1ms}),
                 ::pqxx::in_doubt_error);
    EXPECT_EQ(runs_, 3);
    EXPECT_EQ(effects(operation_), 0);
}

TEST_F(Once, ADeadlockIsTriedAgain) {
    EXPECT_EQ(pay([&](auto& transaction) {
                  if (runs_ > 2) return;
                  transaction.exec("DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$");
              }).outcome,
              Outcome::fresh);
    EXPECT_EQ(runs_, 3);
    EXPECT_EQ(effects(operation_), 1);
}

TEST_F(Once, AnotherSystemsLostConnectionIsNotTriedAgain) {
    EXPECT_THROW(pay([](auto&) { throw ::pqxx::broken_connection("of another database"); }),
                 ::pqxx::broken_connection);
    EXPECT_EQ(runs_, 1);
}

TEST_F(Once, AServerThatCannotBeReachedIsTriedAgainAndThenSaid) {
    int asked = 0;
    const Connect nobody = [&]() -> std::shared_ptr<::pqxx::connection> {
        ++asked;
        return std::make_shared<::pqxx::connection>("host=127.0.0.1 port=1 connect_timeout=2");
    };
    EXPECT_THROW(once(nobody, inbox_, "k", [](auto&) { return Result{}; },
                      {.tries = 2, .pause = 1ms}),
                 ::pqxx::broken_connection);
    EXPECT_EQ(asked, 2);
}

TEST_F(Once, TwoAtOnceAreOneEffect) {
    const auto call = [&] {
        const Connect connect = reconnecting(dsn());
        return once(connect, inbox_, "order-17", [&](auto& transaction) {
            ++runs_;
            add_effect(transaction, operation_);
            transaction.exec("SELECT pg_sleep(0.1)");
            return Result{.body = "r"};
        });
    };
    auto other = std::async(std::launch::async, call);
    const OnceAnswer one = call();
    EXPECT_NE(one.outcome, other.get().outcome);
    EXPECT_EQ(one.result.body, "r");
    EXPECT_EQ(runs_, 1);
    EXPECT_EQ(effects(operation_), 1);
}

// libpqxx does not see that COMMIT of an aborted transaction rolls back.
TEST_F(Once, AnErrorThatTheFunctionSwallowsIsNoEffect) {
    EXPECT_THROW(pay([](auto& transaction) {
                     try {
                         transaction.exec("SELECT 1 / 0");
                     } catch (const ::pqxx::sql_error&) {
                     }
                 }),
                 ::pqxx::sql_error);
    EXPECT_EQ(effects(operation_), 0);
    EXPECT_EQ(pay().outcome, Outcome::fresh);
}

TEST_F(Once, AFunctionThatCommitsByItselfIsRefused) {
    EXPECT_THROW(pay([](auto& transaction) { transaction.commit(); }), ::pqxx::sql_error);
    EXPECT_EQ(effects(operation_), 0);
}

TEST_F(Once, ALedgerWithoutResultsIsRefused) {
    const Inbox bare{.operation = operation_, .ledger = "cpp_bare"};
    EXPECT_EQ(refusal_of([&] { once(connect_, bare, "k", [](auto&) { return Result{}; }); }),
              "OW002");
}

}  // namespace
}  // namespace onceward::pqxx
