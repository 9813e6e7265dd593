// A transaction's round trips: what goes together, what is done meanwhile, and which of them
// failed.

#include "dedup/postgres/transaction.h"

#include <libpq-fe.h>

#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

using Begin = OwnedTransaction::Begin;

class TransactionTest : public CoreTest {
  protected:
    Connection::Statement insert() const { return {insert_}; }
    std::int64_t rows() { return database().number("SELECT count(*) FROM " + numbers_); }

    std::string numbers_ = schema_.user_table("numbers", "number integer");
    std::string insert_ = "INSERT INTO " + numbers_ + " VALUES (1)";
    Connection connection_{schema_.worker()};
};

TEST_F(TransactionTest, BeginsWithWhatItSendsFirst) {
    {
        OwnedTransaction transaction(connection_, Begin::with_first);
        EXPECT_FALSE(connection_.in_transaction());
        const auto results =
            transaction.pipelined({insert(), {"SELECT current_setting('transaction_isolation')"}});
        ASSERT_EQ(results.size(), 2U);
        EXPECT_EQ(results[1].text(0, 0), "read committed");
        EXPECT_TRUE(connection_.in_transaction());
    }
    EXPECT_FALSE(connection_.in_transaction());
    EXPECT_EQ(rows(), 0) << "left without commit()";
    OwnedTransaction transaction(connection_, Begin::with_first);
    transaction.pipelined({insert()});
    transaction.commit();
    EXPECT_EQ(rows(), 1);
}

TEST_F(TransactionTest, ThatNeverBeganSendsNothing) {
    { OwnedTransaction transaction(connection_, Begin::with_first); }
    EXPECT_EQ(connection_.query("SELECT 1", {}).integer(0, 0), 1);
}

TEST_F(TransactionTest, SendsNothingBeforeItBegins) {
    {
        OwnedTransaction transaction(connection_, Begin::with_first);
        EXPECT_THROW(transaction.query(insert_), BrokenContract);
        EXPECT_THROW(transaction.prepared(insert_), BrokenContract);
        EXPECT_THROW(transaction.copy_begin("COPY " + numbers_ + " FROM STDIN"), BrokenContract);
        EXPECT_THROW(transaction.grouped({}), BrokenContract);
    }
    EXPECT_EQ(rows(), 0);
}

TEST_F(TransactionTest, TellsWhichOfItsStatementsFailed) {
    OwnedTransaction transaction(connection_);
    try {
        transaction.pipelined({insert(), {"SELECT 1 / 0"}, insert()});
        FAIL() << "a division by zero went through";
    } catch (const PostgresError& error) {
        EXPECT_EQ(error.sqlstate(), "22012");
        EXPECT_EQ(error.diagnosis().statement, 1);
    }
}

// A session under COPY can begin no pipeline. libpq says so itself: the server gives no answer.
TEST_F(TransactionTest, AFailureOfLibpqItselfEndsTheSession) {
    OwnedTransaction transaction(connection_);
    transaction.pipelined({insert()});
    transaction.copy_begin("COPY " + numbers_ + " FROM STDIN");
    try {
        transaction.pipelined({insert()});
        FAIL() << "a pipeline began under COPY";
    } catch (const PostgresError& error) {
        EXPECT_EQ(error.sqlstate(), "");
        EXPECT_TRUE(error.diagnosis().connection_lost) << error.what();
    }
    EXPECT_EQ(rows(), 0);
}

TEST_F(TransactionTest, AFailureNamesTheFileThatAskedForIt) {
    constexpr const char* here = "at tests/integration/dedup/postgres/transaction_test.cc:";
    const auto said = [](const std::function<void(Transaction&)>& ask, Connection& connection) {
        try {
            OwnedTransaction transaction(connection);
            ask(transaction);
        } catch (const PostgresError& error) {
            return error.summary();
        }
        return std::string("nothing failed");
    };
    const std::function<void(Transaction&)> asks[] = {
        [](Transaction& it) { it.query("SELECT 1 / 0"); },
        [](Transaction& it) { it.prepared("SELECT 1 / 0"); },
        [](Transaction& it) { it.prepared("no statement"); },
        [&](Transaction& it) { it.pipelined({insert(), {"SELECT 1 / 0"}}); },
        [](Transaction& it) { it.copy_begin("COPY nothing FROM STDIN"); },
        [&](Transaction& it) {
            it.copy_begin("COPY " + numbers_ + " FROM STDIN");
            it.copy_send("no number\n");
            it.copy_end();
        },
        [](Transaction& it) { it.connection().execute("no statement"); }};
    for (const auto& ask : asks) EXPECT_THAT(said(ask, connection_), testing::HasSubstr(here));
    OwnedTransaction transaction(connection_);
    EXPECT_THROW(transaction.query("SELECT 1 / 0"), PostgresError);
    const auto line = std::source_location::current().line() + 2;
    try {
        transaction.commit();
        FAIL() << "a rollback was taken for a commit";
    } catch (const PostgresError& error) {
        EXPECT_THAT(error.summary(), testing::EndsWith(here + std::to_string(line)));
    }
}

// A COMMIT after a swallowed error is answered without an error, with the tag ROLLBACK.
TEST_F(TransactionTest, ThatTheServerRolledBackIsNotCommitted) {
    OwnedTransaction transaction(connection_);
    transaction.query(insert_);
    EXPECT_THROW(transaction.query("SELECT 1/0"), PostgresError);
    try {
        transaction.commit();
        FAIL() << "a rollback was taken for a commit";
    } catch (const PostgresError& error) {
        EXPECT_EQ(error.sqlstate(), "25P02");
        EXPECT_FALSE(error.diagnosis().in_doubt);
    }
    EXPECT_EQ(rows(), 0);
    EXPECT_EQ(connection_.query("SELECT 1", {}).integer(0, 0), 1) << "the session continues";
}

// A sink may leave an answer on the line; COMMIT is not sent then, and nothing stays open.
TEST_F(TransactionTest, WhoseCommitCouldNotBeSentIsRolledBack) {
    {
        OwnedTransaction transaction(connection_);
        transaction.query(insert_);
        ASSERT_EQ(PQsendQuery(connection_.raw(), "SELECT 1"), 1);
        EXPECT_THROW(transaction.commit(), PostgresError);
    }
    EXPECT_FALSE(connection_.in_transaction());
    EXPECT_EQ(rows(), 0);
}

struct Meant : std::exception {};

TEST_F(TransactionTest, WhatWorkMeanwhileThrowsComesOnceTheAnswersAreThere) {
    OwnedTransaction transaction(connection_, Begin::with_first);
    EXPECT_THROW(transaction.pipelined({insert()}, [] { throw Meant(); }), Meant);
    EXPECT_EQ(transaction.query("SELECT count(*) FROM " + numbers_).integer(0, 0), 1);
    EXPECT_THROW(transaction.commit([] { throw Meant(); }), Meant);
    EXPECT_EQ(rows(), 1) << "COMMIT was sent by then: as after a crash that follows it";
    EXPECT_EQ(connection_.query("SELECT 1", {}).integer(0, 0), 1) << "the session continues";
}

// The server waits for the work: it is done before the answer, not after it.
TEST_F(TransactionTest, WorkIsDoneWhileTheServerIsAtIt) {
    Connection other(schema_.worker());
    other.execute("BEGIN; SELECT pg_advisory_xact_lock(77)");
    OwnedTransaction transaction(connection_, Begin::with_first);
    transaction.pipelined({{"SELECT pg_advisory_xact_lock(77)"}}, [&] { other.execute("COMMIT"); });
    transaction.commit();
}

}  // namespace
}  // namespace onceward::support
