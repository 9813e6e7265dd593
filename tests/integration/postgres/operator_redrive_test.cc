// Which letters a redrive picks and marks, and when: some stay, some change while it is under way,
// or it ends too early.

#include <future>

#include "cli/dlq/redrive.h"
#include "tests/integration/postgres/dead_letter_scene.h"
#include "tests/support/one_waits.h"

namespace onceward::operator_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class RedriveMarks : public DeadLetters {
  protected:
    std::vector<Letter> selected() {
        Connection operators(schema_.owner());
        return select_letters(operators, {.group = "billing", .topic = "orders", .limit = 10});
    }
    RedriveOptions sending(bool by_key = false) {
        RedriveOptions options;
        options.producer.bootstrap_servers = cluster_.bootstrap_servers();
        options.topic = "orders";
        options.group = "billing";
        options.by_key = by_key;
        return options;
    }
    RedriveReport send(const std::vector<Letter>& letters, const RedriveOptions& options) {
        Connection operators(schema_.owner());
        return redrive(operators, letters, options);
    }
    // Ends as if it was killed when the first letter was sent. A letter a second: each is a page.
    void send_and_end(const std::vector<Letter>& letters, RedriveOptions options) {
        options.rate = 1.0;
        options.progress = [](std::int64_t) { throw std::runtime_error("killed"); };
        EXPECT_THROW(send(letters, options), std::runtime_error);
    }
    // What comes of a redrive of all letters that waits for the rows that a rewind changes, and
    // continues when the rewind commits.
    Outcome redriven_beside(const std::string& changes, const std::string& more = "") {
        Database rewind(schema_.server().dsn);
        rewind.execute("BEGIN; " + changes);
        auto outcome = std::async(std::launch::async, [&] {
            return dlq({"redrive", "--topic", "orders", "--yes"}, more);
        });
        EXPECT_TRUE(support::one_waits_for(database(), rewind.pid()));
        rewind.execute("COMMIT");
        return outcome.get();
    }
    std::string marked_in_audit() {
        return database().value(
            "SELECT coalesce(string_agg(details ->> 'letters', ' ' ORDER BY entry), '') "
            "FROM audit_log WHERE act = 'dlq redrive' AND outcome = 'began'");
    }
};

// The server notices the end of the session a moment after the command has ended.
TEST_F(RedriveMarks, ARedriveThatHasJustEndedDoesNotStopTheNextOne) {
    auto ended = std::make_unique<Connection>(schema_.owner());
    ASSERT_TRUE(lock_redrives(*ended, "billing", "orders"));
    Connection next(schema_.owner());
    auto locked =
        std::async(std::launch::async, [&] { return lock_redrives(next, "billing", "orders"); });
    EXPECT_EQ(locked.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
    ended.reset();
    EXPECT_TRUE(locked.get());
}

// The table has more letters than one selection takes.
class RedriveLimit : public DeadLetters {
  protected:
    // Adds 150 letters under one record key. `exhausted`: which of them were sent again 5 times.
    void letters_that_stay(const std::string& exhausted) {
        const std::string five = R"([{"name": "onceward-redriven", "value": "NQ=="}])";
        database().execute(
            "INSERT INTO dead_letters (consumer_group, topic, identity, partition, record_offset, "
            "record_key, headers, error_class, reason, attempts) SELECT 'billing', 'orders', 'T', "
            "1, n, 'a'::bytea, (CASE WHEN " +
            exhausted + " THEN '" + five +
            "' ELSE '[]' END)::jsonb, 'sink', 'why', 1 FROM generate_series(1, 150) AS n "
            "ORDER BY n");
    }
};

TEST_F(RedriveLimit, CountsNoneThatWasSentAgainTooOften) {
    letters_that_stay("true");
    letter(200, "k-200");
    const Outcome outcome = dlq({"redrive", "--topic", "orders", "--yes", "--limit", "2"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("150 were sent again 5 times or more"));
    EXPECT_THAT(payloads(), ElementsAre("payload of k-200"));
}

TEST_F(RedriveLimit, CountsNoneWhoseRecordKeyIsHeld) {
    letters_that_stay("n = 1");
    letter(200, "k-200", "sink", "b");
    const Outcome outcome =
        dlq({"redrive", "--topic", "orders", "--yes", "--limit", "2"}, "    order: by_key\n");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("149 have the record key of one that stays"));
    EXPECT_THAT(payloads(), ElementsAre("payload of k-200"));
}

// The letter that keeps the key is not selected.
TEST_F(RedriveLimit, ThatWasReachedBeforeALetterThatCanGoIsSaid) {
    letter(1, "k-1", "behind", "a");
    letter(2, "k-2", "sink", "a", R"([{"name": "onceward-redriven", "value": "NQ=="}])");
    const Outcome outcome =
        dlq({"redrive", "--topic", "orders", "--yes", "--class", "behind", "--limit", "1"},
            "    order: by_key\n");
    EXPECT_EQ(outcome.exit_code, 1) << "for a script there would be nothing left";
    EXPECT_THAT(outcome.output, HasSubstr("--limit was reached"));
    EXPECT_EQ(states(), "1 t t t, 2 t t t");
}

TEST_F(RedriveMarks, AnInterruptedOneHasMarkedOnlyWhatItWasSending) {
    for (int i = 1; i <= 3; ++i) letter(i, "k-" + std::to_string(i));
    send_and_end(selected(), sending());
    EXPECT_EQ(states(), "1 f f t, 2 t t t, 3 t t t");
    EXPECT_EQ(marked_in_audit(), "1");
}

// Somebody dealt with them before they were marked.
TEST_F(RedriveMarks, LettersThatWereResolvedOrDiscardedAfterTheSelectionAreLeft) {
    for (int i = 1; i <= 3; ++i) letter(i, "k-" + std::to_string(i));
    const std::vector<Letter> letters = selected();
    database().execute("UPDATE dead_letters SET resolved_at = now() WHERE record_offset = 1");
    database().execute("DELETE FROM dead_letters WHERE record_offset = 2");
    const RedriveReport report = send(letters, sending());
    EXPECT_EQ(report.delivered, 1);
    EXPECT_EQ(report.left, 2);
    EXPECT_EQ(report.marked, 0);
    EXPECT_EQ(report.reopened, 0);
    EXPECT_THAT(payloads(), ElementsAre("payload of k-3"));
    EXPECT_EQ(states(), "1 f t t, 3 f f f");
    EXPECT_EQ(marked_in_audit(), "1");
}

TEST_F(RedriveMarks, TheStateIsCheckedAfterTheWaitForARow) {
    for (int i = 1; i <= 3; ++i) letter(i, "k-" + std::to_string(i));
    const std::string table = schema_.name() + ".dead_letters";
    const Outcome redriven =
        redriven_beside("UPDATE " + table + " SET resolved_at = now() WHERE record_offset = 1; " +
                        "UPDATE " + table + " SET attempts = 2 WHERE record_offset = 2");
    EXPECT_EQ(redriven.exit_code, 0) << redriven.output;
    EXPECT_THAT(redriven.output, HasSubstr("sent again 2 of 3"));
    EXPECT_THAT(redriven.output, HasSubstr("left 1, which somebody has dealt with meanwhile"));
    EXPECT_THAT(payloads(), ElementsAre("payload of k-2", "payload of k-3"));
    EXPECT_EQ(states(), "1 f t t, 2 f f f, 3 f f f");
}

TEST_F(RedriveMarks, WithOrderByKeyOneThatLeavesOpenLettersIsAFailure) {
    letter(1, "k-1", "sink", "a");
    letter(2, "k-2", "behind", "a");
    letter(3, "k-3", "sink", "b");
    const Outcome redriven =
        redriven_beside("UPDATE " + schema_.name() +
                            ".dead_letters SET resolved_at = now() WHERE record_offset = 1",
                        "    order: by_key\n");
    EXPECT_EQ(redriven.exit_code, 1) << redriven.output;
    EXPECT_THAT(redriven.output, HasSubstr("sent again 1 of 3"));
    EXPECT_THAT(redriven.output, HasSubstr("run it again"));
    EXPECT_EQ(states(), "1 f t t, 2 t t t, 3 f f f");
}

// An open letter of the key would make the first copy a dead letter.
TEST_F(RedriveMarks, WithOrderByKeyAKeysLettersAreMarkedWithItsFirst) {
    letter(1, "k-1", "sink", "a");
    letter(2, "k-2", "behind", "a");
    letter(3, "k-3", "sink", "b");
    send_and_end(selected(), sending(true));
    EXPECT_EQ(states(), "1 f f t, 2 f f t, 3 t t t");
}

TEST_F(RedriveMarks, WithOrderByKeyAKeyOfWhichALetterHasChangedIsLeft) {
    letter(1, "k-1", "sink", "a");
    letter(2, "k-2", "behind", "a");
    letter(3, "k-3", "sink", "b");
    const std::vector<Letter> letters = selected();
    database().execute("UPDATE dead_letters SET resolved_at = now() WHERE record_offset = 2");
    const RedriveReport report = send(letters, sending(true));
    EXPECT_EQ(report.delivered, 1);
    EXPECT_EQ(report.left, 2);
    EXPECT_THAT(payloads(), ElementsAre("payload of k-3"));
    EXPECT_EQ(states(), "1 t t t, 2 f t t, 3 f f f");
}

// It came after the selection. It would go before the copies, which would be dead letters again.
TEST_F(RedriveMarks, WithOrderByKeyAKeyWithAnotherOpenLetterIsLeft) {
    letter(1, "k-1", "sink", "a");
    letter(2, "k-2", "sink", "b");
    const std::vector<Letter> letters = selected();
    letter(3, "k-3", "behind", "a");
    letter(4, "k-4", "hot_key", "b");
    const RedriveReport report = send(letters, sending(true));
    EXPECT_EQ(report.delivered, 1) << "a copy of a hot key holds nothing back";
    EXPECT_EQ(report.left, 1);
    EXPECT_THAT(payloads(), ElementsAre("payload of k-2"));
    EXPECT_EQ(states(), "1 t t t, 2 f f f, 3 t t t, 4 t t t");
}

TEST_F(RedriveMarks, OneThatIsStoppedReportsWhatItHasNotReachedAsItWas) {
    letter(1, "k-1", "sink", "a");
    letter(2, "k-2", "behind", "a");
    letter(3, "k-3", "sink", "b");
    database().execute(
        "UPDATE dead_letters SET redrive_began_at = now(), resolved_at = now() "
        "WHERE record_offset = 3");
    RedriveOptions options = sending(true);
    options.rate = 1.0;
    options.stopped = [&] {
        return database().number(
                   "SELECT count(*) FROM dead_letters "
                   "WHERE redriven_at IS NOT NULL") > 0;
    };
    const RedriveReport report = send(selected(), options);
    EXPECT_EQ(report.delivered, 1);
    EXPECT_EQ(report.marked, 0);
    EXPECT_EQ(report.reopened, 2) << "one was marked with its key, one was not reached";
    EXPECT_EQ(states(), "1 f f f, 2 t t t, 3 f f t");
    EXPECT_THAT(payloads(), ElementsAre("payload of k-1"));
}

TEST_F(RedriveMarks, ACorrectionOfALetterThatWasDiscardedIsNotInTheAuditLog) {
    letter(1, "k-1");
    const std::vector<Letter> letters = selected();
    database().execute("DELETE FROM dead_letters");
    RedriveOptions options = sending();
    options.correction = Correction{letters.at(0).number, "fixed"};
    EXPECT_EQ(send(letters, options).left, 1);
    EXPECT_THAT(payloads(), IsEmpty());
    EXPECT_EQ(database().number("SELECT count(*) FROM audit_log WHERE act = 'dlq correct'"), 0);
}

}  // namespace
}  // namespace onceward::operator_tests
