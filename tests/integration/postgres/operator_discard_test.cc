// `onceward dlq discard` while a redrive marks the same letters.

#include <future>

#include "tests/integration/postgres/operator_scene.h"
#include "tests/support/one_waits.h"

namespace onceward::operator_tests {
namespace {

class DiscardDuringARedrive : public Operator {
  protected:
    DiscardDuringARedrive() {
        for (const char* offset : {"1", "2"}) {
            database().execute(
                "INSERT INTO dead_letters (consumer_group, topic, identity, partition, "
                "record_offset, error_class, reason, attempts) VALUES "
                "('billing', 'orders', 'T', 1, $1, 'sink', 'why', 1)",
                {offset});
        }
    }
    Outcome discard(const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments{"dlq",     "discard", "--topic",  "orders", "--group",
                                           "billing", "--yes",   "--reason", "a test"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_as_owner(std::move(arguments));
    }
    // Marks the letter as a redrive does, and commits when the discard waits for its lock.
    Outcome discard_while_marked(const std::string& mark,
                                 const std::vector<std::string>& more = {}) {
        Database redrive(schema_.server().dsn);
        redrive.execute("BEGIN; UPDATE " + schema_.name() + ".dead_letters SET " + mark +
                        " WHERE record_offset = 1");
        auto discarded = std::async(std::launch::async, [&] { return discard(more); });
        EXPECT_TRUE(support::one_waits_for(database(), redrive.pid()));
        redrive.execute("COMMIT");
        return discarded.get();
    }
    std::string kept() {
        return database().value(
            "SELECT coalesce(string_agg(record_offset::text, ' ' ORDER BY record_offset), '') "
            "FROM dead_letters");
    }
};

TEST_F(DiscardDuringARedrive, LeavesALetterThatTheRedriveMarksAfterItWasSelected) {
    const Outcome outcome = discard_while_marked("resolved_at = now(), redrive_began_at = now()");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("discarded 1;"));
    EXPECT_THAT(outcome.output, HasSubstr("left 1, which a redrive or somebody else"));
    EXPECT_EQ(kept(), "1");
    EXPECT_EQ(database().value("SELECT record_offset FROM discarded_dead_letters"), "2");
}

// The operator has seen an open letter, not one that may be on its way.
TEST_F(DiscardDuringARedrive, LeavesSuchALetterAlsoIfLettersInAnyStateWereSelected) {
    const Outcome outcome =
        discard_while_marked("resolved_at = now(), redrive_began_at = now()", {"--state", "all"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("discarded 1;"));
    EXPECT_EQ(kept(), "1");
}

TEST_F(DiscardDuringARedrive, TakesALetterThatIsStillOpenAfterTheWait) {
    const Outcome outcome = discard_while_marked("redrive_began_at = NULL");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("discarded 2;"));
    EXPECT_EQ(outcome.output.find("left"), std::string::npos) << outcome.output;
    EXPECT_EQ(kept(), "");
}

// The state is an option: letters that were sent again are discarded if they are asked for.
TEST_F(DiscardDuringARedrive, TakesTheStatesThatWereAskedForAndNoOthers) {
    database().execute(
        "UPDATE dead_letters SET resolved_at = now(), redrive_began_at = now(), "
        "redriven_at = now() WHERE record_offset = 1");
    EXPECT_EQ(discard({"--state", "redriving"}).exit_code, 3);
    EXPECT_EQ(kept(), "1 2");
    EXPECT_EQ(discard({"--state", "redriven"}).exit_code, 0);
    EXPECT_EQ(kept(), "2");
    EXPECT_EQ(discard({"--state", "all"}).exit_code, 0);
    EXPECT_EQ(kept(), "");
}

}  // namespace
}  // namespace onceward::operator_tests
