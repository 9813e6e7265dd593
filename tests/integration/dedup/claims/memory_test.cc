// Keys that are older than what their ledger remembers: they are refused, and never applied again.

#include "dedup/message/minted.h"
#include "dedup/once.h"
#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

class MemoryTest : public CoreTest {
  protected:
    // By this machine's clock, which the server shares.
    static MintedAt ago(std::chrono::seconds time) {
        return MintedAt(since_1970<std::chrono::microseconds>() - time);
    }
    void append(const std::string& key, std::optional<MintedAt> minted_at) {
        log_.append(0, {.key = key, .minted_at = minted_at});
    }
    Totals run() {
        CoreWorker worker(log_, sink_, options());
        EXPECT_TRUE(worker.run());
        return worker.totals;
    }
    // As retention does it, for claims that were made until now.
    void forget_all() {
        database().execute("SELECT rotate_ledger(1, (SELECT max(generation) FROM generations))");
        database().execute("UPDATE ledgers SET retention = '1 hour'");
        database().execute(
            "UPDATE fences SET watermark = clock_timestamp() + interval '1 day'");
        database().execute(
            "UPDATE ledger_feeds SET watermark = clock_timestamp() + interval '1 day', "
            "partitions = 1");
        EXPECT_EQ(database().number("SELECT count(*) FROM unlist_expired(1)"), 1);
    }
    std::string letters() {
        return database().value(
            "SELECT coalesce(string_agg(error_class, ' ' ORDER BY dead_letter), '') "
            "FROM dead_letters");
    }
    ScriptedLog log_{1};
};

TEST_F(MemoryTest, AKeyFromBeforeTheMemoryIsADeadLetterAndNotAppliedAgain) {
    append("a", ago(3600s));
    EXPECT_EQ(run(), (Totals{.applied = 1}));
    forget_all();
    append("a", ago(3600s));
    append("a", ago(3600s));
    append("new", ago(-30s));
    EXPECT_EQ(run(), (Totals{.dead_lettered = 3})) << "within the skew it cannot be judged";
    EXPECT_EQ(letters(), "late_key late_key late_key");
    EXPECT_EQ(effects(), 1);
}

TEST_F(MemoryTest, AnOldBacklogIsAppliedUntilTheLedgerForgets) {
    append("a", ago(90 * 24h));
    EXPECT_EQ(run(), (Totals{.applied = 1}));
}

TEST_F(MemoryTest, AnOldKeyThatIsStillKnownIsADuplicate) {
    const MintedAt old = ago(3600s);
    append("unrelated", ago(3600s));
    run();
    forget_all();
    // By a claim without a time, as another feed of the ledger makes it.
    append("a", std::nullopt);
    EXPECT_EQ(run(), (Totals{.applied = 1}));
    append("a", old);
    EXPECT_EQ(run(), (Totals{.duplicates = 1})) << "in the open generation";
    database().execute("SELECT rotate_ledger(1, (SELECT max(generation) FROM generations))");
    append("a", old);
    EXPECT_EQ(run(), (Totals{.duplicates = 1})) << "in a sealed one";
}

TEST_F(MemoryTest, TheSameKeyWithAnotherTimeIsAConflict) {
    append("a", ago(10s));
    append("a", ago(5s));
    EXPECT_EQ(run(), (Totals{.applied = 1, .conflicts = 1}));
}

TEST_F(MemoryTest, AKeyFromTheFutureIsRefused) {
    append("a", ago(-90s));
    append("b", ago(-30s));
    EXPECT_EQ(run(), (Totals{.applied = 1, .dead_lettered = 1}));
    EXPECT_EQ(letters(), "invalid_key");
}

// The operator's word: the message may take effect. Its own claim keeps later copies out.
TEST_F(MemoryTest, ARedrivenMessageIsAppliedOnceAlthoughItsKeyIsOld) {
    const MintedAt old = ago(3600s);
    append("a", old);
    run();
    forget_all();
    append("b", old);
    EXPECT_EQ(run(), (Totals{.dead_lettered = 1}));
    const auto sent = since_1970<std::chrono::milliseconds>() + 120s;
    log_.append(0, {.key = "b", .timestamp = sent, .minted_at = old, .redriven = true});
    log_.append(0, {.key = "b", .timestamp = sent, .minted_at = old, .redriven = true});
    EXPECT_EQ(run(), (Totals{.dead_lettered = 2})) << "its copy's time is in the future";
    database().execute("UPDATE ledgers SET memory_begins = memory_begins - interval '2 minutes'");
    const auto now = since_1970<std::chrono::milliseconds>();
    log_.append(0, {.key = "b", .timestamp = now, .minted_at = old, .redriven = true});
    log_.append(0, {.key = "b", .timestamp = now, .minted_at = old, .redriven = true});
    EXPECT_EQ(run(), (Totals{.applied = 1, .duplicates = 1}));
    EXPECT_EQ(effects("key = 'b'"), 1);
}

// Each is judged by its own time, although the first of a batch claims the key for all.
TEST_F(MemoryTest, ARedriveIsAppliedAlsoIfALateCopyIsBeforeItInTheBatch) {
    const MintedAt old = ago(3600s);
    append("a", old);
    run();
    forget_all();
    database().execute("UPDATE ledgers SET memory_begins = memory_begins - interval '2 minutes'");
    const auto now = since_1970<std::chrono::milliseconds>();
    append("b", old);
    log_.append(0, {.key = "b", .timestamp = now, .minted_at = old, .redriven = true});
    append("b", old);
    EXPECT_EQ(run(), (Totals{.applied = 1, .duplicates = 1, .dead_lettered = 1}));
    EXPECT_EQ(letters(), "late_key");
    EXPECT_EQ(effects("key = 'b' AND record_offset = 2"), 1);
}

// Otherwise each repeat of a late backlog would cost an attempt with all that comes after it.
TEST_F(MemoryTest, RepeatsThatAreLateThemselvesAreRefusedInOneTransaction) {
    append("a", ago(3600s));
    run();
    forget_all();
    for (const auto time : {3600s, 3500s, 3400s, 3300s}) append("b", ago(time));
    int attempts = 0;
    StepHook hook([&](Step step) { attempts += step == Step::before_begin ? 1 : 0; });
    CoreWorkerOptions mine = options();
    mine.observer = &hook;
    CoreWorker worker(log_, sink_, mine);
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(worker.totals, (Totals{.dead_lettered = 4}));
    EXPECT_EQ(attempts, 1);
}

TEST_F(MemoryTest, ACorrectedRepeatIsAppliedAlsoIfAKeyFromTheFutureIsBeforeItInTheBatch) {
    append("a", ago(-3600s));
    append("a", ago(10s));
    EXPECT_EQ(run(), (Totals{.applied = 1, .dead_lettered = 1}));
    EXPECT_EQ(letters(), "invalid_key");
}

TEST_F(MemoryTest, ACallWithAnOldKeyIsNotCarriedOut) {
    using Kind = OnceAnswer::Kind;
    Connection connection(schema_.worker());
    const OnceLedger ledger(connection, {});
    int calls = 0;
    const auto call_at = [&](const std::string& key, MintedAt minted_at) {
        const OnceKey wanted{.operation = "pay", .text = key, .minted_at = minted_at};
        const auto pay = [&](Transaction&) {
            ++calls;
            return MessageResult{.status = 201};
        };
        return once(connection, wanted, ledger, pay).kind;
    };
    EXPECT_EQ(call_at("a", ago(3600s)), Kind::applied) << "nothing was forgotten yet";
    database().execute("UPDATE ledgers SET memory_begins = clock_timestamp()");
    EXPECT_EQ(call_at("b", ago(3600s)), Kind::expired);
    EXPECT_EQ(call_at("c", ago(0s)), Kind::applied);
    EXPECT_EQ(call_at("c", ago(1s)), Kind::conflict);
    EXPECT_THROW(call_at("d", ago(-90s)), std::invalid_argument);
    EXPECT_EQ(calls, 2);
}

TEST_F(MemoryTest, TheInboxComputesTheSameFingerprint) {
    const MintedAt time{std::chrono::microseconds(1'767'323'045'678'901)};
    const Digest content = digest_of_bytes("content");
    const std::string asked = "SELECT stamped(" + std::string("'") + uuid_text(content) +
                              "'::uuid, '2026-01-02T03:04:05.678901Z')";
    EXPECT_EQ(database().value(asked), uuid_text(stamped(content, time)));
    EXPECT_EQ(database().value("SELECT stamped(NULL, '2026-01-02T03:04:05.678901Z')"),
              uuid_text(stamped(std::nullopt, time)));
}

}  // namespace
}  // namespace onceward::support
