#include "tests/tidy/transaction_rules.h"

#include <gmock/gmock.h>

namespace onceward::tidy {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

// What a session itself is made of, words for people, and a part of a statement that is put
// together from a table's columns; all else is in schemas/.
TEST(Transactions, SqlStandsInSchemasAlone) {
    EXPECT_THAT(sql_in_code(repository()),
                ElementsAre("cli/proposal/proposal_text.cc: CREATE",  // for people to run
                            "dedup/postgres/connection.cc: COMMIT",
                            "dedup/postgres/connection.cc: ROLLBACK",
                            "dedup/postgres/connection.cc: DEALLOCATE",
                            "dedup/postgres/transaction.cc: COMMIT",  // the tag
                            "dedup/postgres/transaction.cc: COMMIT",  // what is said of it
                            "dedup/server/migration.cc: COMMIT",      // of the script for psql
                            "dedup/trace/batch_trace.cc: COMMIT",     // a span's name
                            "dedup/trace/batch_trace.cc: COMMIT",     //
                            "lab/commands/demo.cc: SELECT",           // what to try in psql
                            "lab/commands/demo.cc: SELECT",           //
                            "sinks/table/table_plan.cc: UPDATE SET"));
}
TEST(Transactions, SqlInCodeIsFound) {
    EXPECT_THAT(sql_in_code({{"dedup/a.cc", "query(\"SELECT 1\");"},
                             {"dedup/b.cc", "query(R\"(\n  DELETE FROM t)\");"},
                             {"dedup/c.cc", "// \"SELECT 1\"\nlog(\"UPDATE\");"},
                             {"tests/a_test.cc", "query(\"SELECT 1\");"}}),
                ElementsAre("dedup/a.cc: SELECT", "dedup/b.cc: DELETE FROM"));
}

// Each of them in a file of its own, so that a new one has to give its reason here.
const std::vector<std::string> openers{
    "cli/commands/groups.cc",             // retiring a group
    "cli/dlq/letter_intake.h",            // those of a topic, with their row in the audit log
    "cli/dlq/letter_lines.cc",            // dead letters that are taken in, all or none
    "cli/operator/offsets_move.cc",       // moving a fence by hand
    "dedup/at_once.cc",                   // a few fresh messages in one round trip
    "dedup/claims/log/log_store.cc",      // a look at segments, rolled back
    "dedup/claims/table_store.cc",        // a look at claims, rolled back
    "dedup/fence/fence.cc",               // creating, taking and skipping
    "dedup/leases/lease_ends.cc",         // how effects outside ended, and the fence over them
    "dedup/leases/lease_processor.cc",    // claims for effects outside
    "dedup/ledger/ledger.cc",             // registering a ledger and its feed
    "dedup/operator/interventions.cc",    // taking claims out by hand, and erasing results
    "dedup/processor.cc",                 // THE transaction
    "dedup/retention/conversion.cc",      // a rotation, and the switch to a log
    "dedup/retention/ledger_pass.cc",     // rotation and dropping
    "dedup/retention/merging.cc",         // a merged segment's tables, and its publication
    "dedup/retention/sealing.cc",         // a segment's tables, and its publication
    "dedup/retention/segment_writer.cc",  // the blocks and filters of one reading
    "dedup/retention/table_sealing.cc",   // the same of a table
    "dedup/retention/watermark.cc",
    "dedup/server/migration.cc",
    "dedup/trial/sink_trial.cc",     // for trying a sink of one's own in a test
    "dedup/unfenced_transaction.h",  // calls, requests and imports: no partitions, no fences
    "gateway/to_upstream/upstream_session.cc",  // a request's lease, and its end with its answer
};
TEST(Transactions, TheListOfWhoOpensOneIsShortAndComplete) {
    EXPECT_THAT(transaction_openers(repository()), ElementsAreArray(openers));
}
TEST(Transactions, WhoOpensOneIsFound) {
    EXPECT_THAT(transaction_openers({{"sinks/a.cc", "OwnedTransaction mine(connection);"},
                                     {"sinks/b.cc", "std::make_unique<OwnedTransaction>(c);"},
                                     {"sinks/c.cc", "// OwnedTransaction mine(connection);"},
                                     {"sinks/d.cc", "void write(OwnedTransaction& theirs);"},
                                     {"sinks/e.h", "OwnedTransaction member_;"}}),
                ElementsAre("sinks/a.cc", "sinks/b.cc", "sinks/e.h"));
}

TEST(Transactions, OnlyTheRunLoopCommitsOffsets) {
    EXPECT_THAT(offset_committers(repository()),
                ElementsAre("consumer/reader.cc",    // of revoked partitions, before they leave
                            "consumer/writer.cc"));  // after each answered COMMIT
}
TEST(Transactions, WhoCommitsOffsetsIsFound) {
    EXPECT_THAT(offset_committers({{"cli/a.cc", "source->commit_through(offsets, true);"},
                                   {"cli/b.cc", "void KafkaSource::commit_through(int) {}"}}),
                ElementsAre("cli/a.cc"));
}

}  // namespace
}  // namespace onceward::tidy
