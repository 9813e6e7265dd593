#include "dedup/policy/failure.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dedup/base/expects.h"

namespace onceward {
namespace {

PostgresError::Diagnosis error(const std::string& sqlstate) {
    PostgresError::Diagnosis diagnosis;
    diagnosis.sqlstate = sqlstate;
    diagnosis.constraint = "some_constraint";
    return diagnosis;
}

FailureAction sink(const std::string& sqlstate, int earlier = 0) {
    return classify(error(sqlstate), Origin::sink, earlier);
}
FailureAction ours(const std::string& sqlstate, int earlier = 0) {
    return classify(error(sqlstate), Origin::ours, earlier);
}

void expect_all(const std::vector<std::string>& codes, FailureAction of_sink,
                FailureAction of_ours) {
    for (const std::string& code : codes) {
        EXPECT_EQ(sink(code), of_sink) << code << " from the sink";
        EXPECT_EQ(ours(code), of_ours) << code << " from a statement of ours";
    }
}

TEST(Failure, WhatPassesByItselfIsRetriedOnTheSameSession) {
    expect_all({"40001", "40P01", "55P03", "55006", "57014"}, FailureAction::retry,
               FailureAction::retry);
}

TEST(Failure, AnInternalErrorIsWorthAFewTries) {
    for (const int earlier : {0, 1, 2}) EXPECT_EQ(ours("XX000", earlier), FailureAction::retry);
    EXPECT_EQ(ours("XX000", 3), FailureAction::stop);
    EXPECT_EQ(sink("XX000", 3), FailureAction::stop);
}

TEST(Failure, ALostOrUnfitSessionIsMadeAnew) {
    expect_all({"08000", "08006", "57P01", "57P02", "57P03", "57P04", "57P05", "25P03", "25P04",
                "26000", "25006"},
               FailureAction::reconnect, FailureAction::reconnect);
}

// A rival sent everything to the dead letters on a full tablespace.
TEST(Failure, AServerShortOfResourcesIsNoMessagesFault) {
    expect_all({"53000", "53100", "53200", "53300", "53400", "58000", "58030", "58P01"},
               FailureAction::reconnect, FailureAction::reconnect);
}

TEST(Failure, ACachedPlanIsForgottenOnceAndThenItIsAStop) {
    EXPECT_EQ(sink("0A000", 0), FailureAction::reconnect);
    EXPECT_EQ(ours("0A000", 0), FailureAction::reconnect);
    EXPECT_EQ(sink("0A000", 1), FailureAction::stop);
}

TEST(Failure, AMessageIsAtFaultOnlyWhereTheSinkSpoke) {
    expect_all({"22001", "22003", "22007", "22021", "22P02", "22P05", "23502", "23503", "23505",
                "23514", "23P01", "44000", "54000", "54001", "P0001", "P0002", "38000", "39000"},
               FailureAction::reject, FailureAction::stop);
}

TEST(Failure, ARowThatNoPartitionTakesStopsTheTopic) {
    PostgresError::Diagnosis diagnosis = error("23514");
    diagnosis.constraint.clear();
    EXPECT_EQ(classify(diagnosis, Origin::sink, 0), FailureAction::stop);
}

TEST(Failure, RowLevelSecurityRefusesOneRowAndAMissingGrantAllOfThem) {
    PostgresError::Diagnosis diagnosis = error("42501");
    EXPECT_EQ(classify(diagnosis, Origin::sink, 0), FailureAction::stop);
    diagnosis.routine = "ExecWithCheckOptions";
    EXPECT_EQ(classify(diagnosis, Origin::sink, 0), FailureAction::reject);
    EXPECT_EQ(classify(diagnosis, Origin::ours, 0), FailureAction::stop);
}

TEST(Failure, ACopyThatTheServerCannotParseStopsAndABrokenProtocolReconnects) {
    EXPECT_EQ(sink("08P01"), FailureAction::stop);
    EXPECT_EQ(ours("08P01"), FailureAction::reconnect);
    PostgresError::Diagnosis diagnosis = error("08P01");
    diagnosis.connection_lost = true;
    EXPECT_EQ(classify(diagnosis, Origin::sink, 0), FailureAction::reconnect);
}

TEST(Failure, WhatTheSchemaOrTheRoleLacksStops) {
    expect_all({"42P01", "42703", "42804", "42601", "28000", "28P01", "3D000", "3F000"},
               FailureAction::stop, FailureAction::stop);
}

TEST(Failure, ACodeThatNobodyListedStops) {
    expect_all({"25P02", "2D000", "72000", "F0000", "40000", "XX001", "57000", "55000"},
               FailureAction::stop, FailureAction::stop);
}

TEST(Failure, WhatAnOperatorRepairsIsNeverAboutOneMessage) {
    for (const char* code : {"42501", "23514", "XX000", "XX001"}) {
        EXPECT_FALSE(may_be_about_one(error(code))) << code;
    }
    for (const char* code : {"42P01", "42703", "0A000"}) {
        EXPECT_TRUE(may_be_about_one(error(code))) << code;
    }
}

// The SQL standard leaves these classes to implementations, and services put their own codes there.
TEST(Failure, AUsersOwnSqlstateIsAboutOneMessage) {
    expect_all({"SH001", "ZZ999", "I0001", "50001", "99999", "56000", "72001", "U0001"},
               FailureAction::reject, FailureAction::stop);
    for (const char* code : {"SH001", "99999"}) EXPECT_TRUE(may_pass(code)) << code;
}

// CASE without a branch, MERGE that meets a row twice, and what is raised by hand.
TEST(Failure, AStatementThatFailsOnSomeDataIsAboutOneMessage) {
    expect_all({"02000", "20000", "21000", "24000", "2F005", "34000"}, FailureAction::reject,
               FailureAction::stop);
}

// PostgreSQL names its own function that spoke: this is RAISE of PL/pgSQL.
TEST(Failure, WhatAFunctionRaisesIsAboutOneMessageWhateverItsSqlstate) {
    for (const char* code : {"42501", "53100", "57P01", "08006", "XX000", "0A000", "26000"}) {
        PostgresError::Diagnosis diagnosis = error(code);
        diagnosis.routine = "exec_stmt_raise";
        EXPECT_EQ(classify(diagnosis, Origin::sink, 0), FailureAction::reject) << code;
    }
    PostgresError::Diagnosis again = error("40001");
    again.routine = "exec_stmt_raise";
    EXPECT_EQ(classify(again, Origin::sink, 0), FailureAction::retry) << "it asks for that";
    EXPECT_EQ(classify(again, Origin::sink, 20), FailureAction::reject) << "but not for ever";
    EXPECT_EQ(classify(again, Origin::ours, 20), FailureAction::retry);
}

// A lock that was waited for says nothing of a function that raises the same code later.
TEST(Failure, LocksDoNotCountForAFunctionThatAsksForAnotherTry) {
    PostgresError::Diagnosis diagnosis = error("55P03");
    FailureSeries series;
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(series.met(PostgresError(diagnosis), Origin::sink), FailureAction::retry);
    }
    diagnosis.routine = "exec_stmt_raise";
    for (int i = 0; i < 8; ++i) {
        EXPECT_EQ(series.met(PostgresError(diagnosis), Origin::sink), FailureAction::retry);
    }
    EXPECT_EQ(series.met(PostgresError(diagnosis), Origin::sink), FailureAction::reject);
}

// Whatever SQLSTATE came with it, a data error included: what COMMIT did is not known.
TEST(Failure, ACommitInDoubtIsResolvedByTakingTheFenceAgain) {
    for (const char* code : {"", "23505", "40001", "57P01", "XX000"}) {
        PostgresError::Diagnosis diagnosis = error(code);
        diagnosis.in_doubt = true;
        EXPECT_EQ(classify(diagnosis, Origin::sink, 9), FailureAction::reconnect) << code;
        // Also if a deferred trigger of the user's raised it.
        diagnosis.routine = "exec_stmt_raise";
        EXPECT_EQ(classify(diagnosis, Origin::sink, 20), FailureAction::reconnect) << code;
        diagnosis.in_doubt = false;
        diagnosis.connection_lost = true;
        EXPECT_EQ(classify(diagnosis, Origin::sink, 20), FailureAction::reconnect) << code;
    }
}

TEST(Failure, ABrokenConnectionReconnectsWithAnySqlstateOrNone) {
    EXPECT_EQ(sink(""), FailureAction::reconnect);
    PostgresError::Diagnosis diagnosis = error("22P02");
    diagnosis.connection_lost = true;
    EXPECT_EQ(classify(diagnosis, Origin::sink, 0), FailureAction::reconnect);
}

// The server's texts are translated, the code is not: a rival read the text.
TEST(Failure, TheTextDecidesNothing) {
    PostgresError::Diagnosis diagnosis = error("40P01");
    diagnosis.message = "Verklemmung entdeckt; connection lost; duplicate key";
    EXPECT_EQ(classify(diagnosis, Origin::sink, 0), FailureAction::retry);
}

TEST(PostgresErrorSummary, QuotesNoValueOfARow) {
    PostgresError::Diagnosis diagnosis = error("22P02");
    diagnosis.message = "invalid input syntax for type integer: \"secret\"";
    diagnosis.column = "amount";
    const PostgresError failure(diagnosis);
    EXPECT_EQ(failure.summary(),
              "22P02, constraint some_constraint, column amount, at " + place_of(failure.where()));
}

TEST(PostgresErrorText, HasNoWordOfASqlstateWhereThereIsNone) {
    PostgresError::Diagnosis diagnosis;
    EXPECT_STREQ(PostgresError(diagnosis).what(), "connection lost");
    diagnosis.message = "could not translate host name \"db\"\n";
    EXPECT_STREQ(PostgresError(diagnosis).what(), "could not translate host name \"db\"");
    diagnosis.sqlstate = "53300";
    diagnosis.message = "too many clients";
    EXPECT_STREQ(PostgresError(diagnosis).what(), "SQLSTATE 53300: too many clients");
}

TEST(Failure, OnlyTheUsersOwnCodeAndAMissingParentMayPass) {
    for (const char* code : {"P0001", "P0002", "38000", "39000", "23503"}) {
        EXPECT_TRUE(may_pass(code)) << code;
    }
    for (const char* code : {"23505", "23502", "23514", "22P02", "44000", "54000", "42501", ""}) {
        EXPECT_FALSE(may_pass(code)) << code;
    }
}

}  // namespace
}  // namespace onceward
