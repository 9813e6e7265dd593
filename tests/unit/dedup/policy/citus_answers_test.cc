// What Citus 13.2.2 answered, recorded by hand on PostgreSQL 15 with a coordinator and two workers,
// and what Onceward makes of it.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dedup/policy/failure.h"
#include "dedup/server/citus.h"

namespace onceward {
namespace {

using Diagnosis = PostgresError::Diagnosis;

FailureAction sink(const Diagnosis& diagnosis, int earlier = 0) {
    return classify(diagnosis, Origin::sink, earlier);
}

// A worker's answer as Citus passes it on: ReportResultError() of its remote_commands.c sets
// SQLSTATE, message, detail, hint and context, and no constraint.
Diagnosis relayed(const std::string& sqlstate, const std::string& message) {
    return {.sqlstate = sqlstate, .message = message, .routine = "ReportResultError"};
}

TEST(CitusAnswers, ToABadRowByValuesAreAboutTheRow) {
    EXPECT_EQ(sink(relayed("23505", "duplicate key value violates unique constraint "
                                    "\"orders_pkey_102020\"")),
              FailureAction::reject);
    EXPECT_EQ(sink(relayed("23514", "new row for relation \"orders_102020\" violates check "
                                    "constraint \"amount_positive\"")),
              FailureAction::reject);
    EXPECT_EQ(sink(relayed("23502", "null value in column \"amount\" of relation "
                                    "\"orders_102020\" violates not-null constraint")),
              FailureAction::reject);
    EXPECT_EQ(sink(relayed("22P02", "invalid input syntax for type integer: \"x\"")),
              FailureAction::reject);
}

// Worth a few tries and then a stop, never a dead letter: the same code is what damage inside
// PostgreSQL has.
TEST(CitusAnswers, ToABadRowByCopyStopTheTopic) {
    const Diagnosis copied{.sqlstate = "XX000",
                           .message = "duplicate key value violates unique constraint "
                                      "\"orders_pkey_102020\"",
                           .routine = "ReportCopyError"};
    EXPECT_EQ(sink(copied, 0), FailureAction::retry);
    EXPECT_EQ(sink(copied, 3), FailureAction::stop);
    EXPECT_FALSE(may_be_about_one(copied));
}

// No code and no name tells it from a CHECK, and no text decides. The topic's cap stops it if there
// are many.
TEST(CitusAnswers, WithoutAPartitionAreTakenForACheckWhateverTheirLanguage) {
    for (const char* text : {"no partition of relation \"orders_102020\" found for row",
                             "neue Zeile verletzt eine Check-Bedingung"}) {
        EXPECT_EQ(sink(relayed("23514", text)), FailureAction::reject) << text;
    }
    // From a statement of ours.
    EXPECT_EQ(classify(relayed("23514", "violates check constraint \"x\""), Origin::ours, 0),
              FailureAction::stop);
    // A plain server names the constraint; without its name it is the partition, whatever it says.
    EXPECT_EQ(sink({.sqlstate = "23514",
                    .message = "no partition found (check constraint)",
                    .routine = "ExecFindPartition"}),
              FailureAction::stop);
}

TEST(CitusAnswers, WhileAWorkerIsAwayPauseAndRetry) {
    for (const int earlier : {0, 1, 100}) {
        EXPECT_EQ(sink(relayed("08006", "connection to the remote node failed"), earlier),
                  FailureAction::reconnect);
        EXPECT_EQ(classify(relayed("08006", ""), Origin::ours, earlier), FailureAction::reconnect);
    }
    EXPECT_EQ(sink({.sqlstate = "40P01",
                    .message = "canceling the transaction since it was involved in a distributed "
                               "deadlock"}),
              FailureAction::retry);
}

// Rows of pg_dist_partition: partmethod, repmodel, colocationid.
TEST(CitusCatalog, SaysOfWhichKindATableIs) {
    EXPECT_EQ(citus_kind('h', 's', 1), CitusTable::Kind::spread);
    EXPECT_EQ(citus_kind('r', 's', 0), CitusTable::Kind::spread);
    EXPECT_EQ(citus_kind('a', 's', 0), CitusTable::Kind::spread);
    EXPECT_EQ(citus_kind('n', 's', 4), CitusTable::Kind::single_shard);
    EXPECT_EQ(citus_kind('n', 't', 2), CitusTable::Kind::reference);
    EXPECT_EQ(citus_kind('n', 's', 0), CitusTable::Kind::local);
}

TEST(CitusCatalog, ASchemaOfOursWithoutSuchTablesIsNotRefused) {
    EXPECT_EQ(distributed_refusal("onceward", {}), "");
}

TEST(CitusCatalog, ARefusalNamesTheTableTheReasonAndTheWayBack) {
    EXPECT_EQ(distributed_refusal("onceward", {{.kind = CitusTable::Kind::spread,
                                                .name = "onceward.claims_1_1",
                                                .column = "digest"},
                                               {}}),
              "schema onceward has the table onceward.claims_1_1, which Citus distributes by "
              "`digest`, and 1 more. Fences and ledgers have to be local tables of the "
              "coordinator: while a node recovers, a SELECT may miss claims that are committed. "
              "Run SELECT undistribute_table('onceward.claims_1_1'). A sink's table may be "
              "distributed, in another schema");
    EXPECT_NE(distributed_refusal("onceward", {{.kind = CitusTable::Kind::single_shard,
                                                .name = "onceward.fences",
                                                .column = ""}})
                  .find("SELECT citus_schema_undistribute('onceward')"),
              std::string::npos);
}

}  // namespace
}  // namespace onceward
