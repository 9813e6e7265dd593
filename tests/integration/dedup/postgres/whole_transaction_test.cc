// A transaction that is sent as a whole, COMMIT with it: all of it lands or nothing, and if nobody
// knows which, it says so.

#include <gtest/gtest.h>

#include <optional>

#include "dedup/postgres/transaction.h"
#include "tests/support/one_waits.h"
#include "tests/support/postgres.h"

namespace onceward::support {
namespace {

class WholeTransactionTest : public ::testing::Test {
  protected:
    Connection::Planned insert(int number) const { return {insert_, {number}, {}}; }
    static Connection::Planned statement(std::string_view sql) { return {sql, {}, {}}; }
    void run(const std::vector<Connection::Planned>& statements,
             const std::function<void()>& meanwhile = {}) {
        OwnedTransaction transaction(connection_, OwnedTransaction::Begin::with_first);
        transaction.run_whole(statements, meanwhile);
    }
    // Runs them, and says why they failed.
    std::optional<PostgresError::Diagnosis> failure_of(
        const std::vector<Connection::Planned>& statements,
        const std::function<void()>& meanwhile = {}) {
        try {
            run(statements, meanwhile);
        } catch (const PostgresError& error) {
            return error.diagnosis();
        }
        return std::nullopt;
    }
    std::string numbers() {
        return database().value(
            "SELECT coalesce(string_agg(number::text, ',' ORDER BY number), "
            "'') FROM " +
            numbers_);
    }
    void end_session() {
        database().execute("SELECT pg_terminate_backend(" + std::to_string(connection_.pid()) +
                           ")");
    }

    Database& database() { return schema_.database(); }

    FreshSchema schema_;
    std::string numbers_ = schema_.user_table("numbers", "number integer PRIMARY KEY");
    std::string insert_ = "INSERT INTO " + numbers_ + " VALUES ($1::integer)";
    Connection connection_{schema_.worker()};
};

TEST_F(WholeTransactionTest, LandsWithAllOfItsStatements) {
    run({insert(1), insert(2)});
    EXPECT_EQ(numbers(), "1,2");
    EXPECT_FALSE(connection_.in_transaction());
    run({insert(3)});
    EXPECT_EQ(numbers(), "1,2,3");
}

TEST_F(WholeTransactionTest, LandsNothingWhereOneOfThemFails) {
    run({insert(1)});
    const auto failed = failure_of({insert(2), insert(1), insert(3)});
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->sqlstate, "23505");
    EXPECT_EQ(failed->statement, 2) << "BEGIN comes first";
    EXPECT_FALSE(failed->in_doubt);
    EXPECT_EQ(numbers(), "1");
    run({insert(4)});
    EXPECT_EQ(numbers(), "1,4") << "the session continues";
}

// What is deferred fails at COMMIT, with an answer that is definite.
TEST_F(WholeTransactionTest, LandsNothingWhereItsCommitFails) {
    schema_.database().execute("ALTER TABLE " + numbers_ +
                               " ADD CONSTRAINT deferred_numbers "
                               "UNIQUE (number) DEFERRABLE INITIALLY DEFERRED, DROP CONSTRAINT "
                               "numbers_pkey");
    const auto failed = failure_of({insert(1), insert(1)});
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->constraint, "deferred_numbers");
    EXPECT_FALSE(failed->in_doubt);
    EXPECT_EQ(numbers(), "");
}

// DANGER: the server may run all that it was sent, COMMIT too.
TEST_F(WholeTransactionTest, IsInDoubtWhereItsSessionEndsBeforeAnyAnswer) {
    Database holder(schema_.server().dsn);
    holder.execute("BEGIN; SELECT pg_advisory_xact_lock(78)");
    const auto failed = failure_of({statement("SELECT pg_advisory_xact_lock(78)"), insert(1)}, [&] {
        ASSERT_TRUE(waits_for_a_lock(database(), connection_.pid()));
        end_session();
    });
    ASSERT_TRUE(failed);
    EXPECT_TRUE(failed->connection_lost);
    EXPECT_TRUE(failed->in_doubt);
}

TEST_F(WholeTransactionTest, IsInDoubtWhereItsSessionEndsInItsCommit) {
    schema_.database().execute(
        "CREATE FUNCTION " + schema_.name() +
        ".ends() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend("
        "pg_backend_pid()); PERFORM pg_sleep(30); RETURN NULL; END $$; CREATE CONSTRAINT TRIGGER "
        "ends AFTER INSERT ON " +
        numbers_ + " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION " +
        schema_.name() + ".ends()");
    const auto failed = failure_of({insert(1)});
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->sqlstate, "57P01");
    EXPECT_TRUE(failed->in_doubt);
}

struct Thrown : std::exception {};

TEST_F(WholeTransactionTest, IsCommittedThoughTheWorkMeanwhileThrows) {
    EXPECT_THROW(run({insert(1)}, [] { throw Thrown(); }), Thrown);
    EXPECT_EQ(numbers(), "1") << "as after a crash that follows it";
    EXPECT_FALSE(connection_.in_transaction());
}

}  // namespace
}  // namespace onceward::support
