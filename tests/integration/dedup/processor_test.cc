// THE transaction against a real server: what lands, what is dead-lettered, and what stops.

#include "dedup/processor.h"

#include "sinks/dead_letters/dead_letter_sink.h"
#include "tests/integration/dedup/core_fixture.h"

namespace onceward::support {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Poison {
    std::string what;
    std::string payload;
    std::string sqlstate;
};

// F23: one of every kind. The table below is made so that each of them is refused by something
// else.
std::vector<Poison> every_poison() {
    std::string incompressible;
    for (int i = 0; incompressible.size() < 4000; ++i) {
        incompressible += hex(digest_of_bytes("c" + std::to_string(i)));
    }
    using std::string_literals::operator""s;
    return {
        {"type", R"({"amount": "abc", "name": "n"})", "22P02"},
        {"not null", R"({"amount": 1})", "23502"},
        {"check", R"({"amount": -1, "name": "n"})", "23514"},
        {"foreign key", R"({"amount": 1, "name": "n", "account": 999})", "23503"},
        {"deferred foreign key", R"({"amount": 1, "name": "n", "later": 999})", "23503"},
        {"the sink's own unique constraint", R"({"amount": 1, "name": "n", "code": "taken"})",
         "23505"},
        {"NUL", "{\"amount\": 1, \"name\": \"a\0b\"}"s, "22021"},
        {"invalid UTF-8", "{\"amount\": 1, \"name\": \"\xFF\"}", "22021"},
        {"lone surrogate", R"({"amount": 1, "name": "\ud800"})", "22P02"},
        {"NUL by escape", R"({"amount": 1, "name": "\u0000"})", "22P05"},
        {"out of range", R"({"amount": 99999999999, "name": "n"})", "22003"},
        {"too long", R"({"amount": 1, "name": ")" + std::string(200, 'n') + "\"}", "22001"},
        {"no room in an index page",
         R"({"amount": 1, "name": "n", "code": ")" + incompressible + "\"}", "54000"},
        {"refused by a trigger", R"({"amount": 13, "name": "n"})", "P0001"},
        {"refused by a deferred trigger", R"({"amount": 14, "name": "n"})", "P0001"},
    };
}

class ProcessorTest : public LedgerTest {
  protected:
    ProcessorTest() {
        schema_.user_table("accounts", "account integer PRIMARY KEY");
        strict_ = schema_.user_table(
            "strict", std::string(effect_columns) +
                          ", amount integer CHECK (amount >= 0), name varchar(100) NOT NULL, "
                          "account integer REFERENCES accounts, later integer REFERENCES accounts "
                          "DEFERRABLE INITIALLY DEFERRED, code text UNIQUE");
        database().execute(
            "INSERT INTO accounts VALUES (1); CREATE FUNCTION refuse() RETURNS trigger LANGUAGE "
            "plpgsql "
            "AS $$ BEGIN IF new.amount = tg_argv[0]::integer THEN RAISE 'no'; END IF; RETURN new; "
            "END $$; "
            "CREATE TRIGGER refuse BEFORE INSERT ON strict FOR EACH ROW EXECUTE FUNCTION "
            "refuse(13); "
            "CREATE CONSTRAINT TRIGGER refuse_later AFTER INSERT ON strict DEFERRABLE INITIALLY "
            "DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION refuse(14); GRANT EXECUTE ON FUNCTION refuse() TO "
            "PUBLIC;"
            "INSERT INTO strict (digest, key, partition, record_offset, name, code) "
            "VALUES (gen_random_uuid(), 'there before', 9, 9, 'n', 'taken')");
        strict_sink_.emplace(strict_, "amount, name, account, later, code",
                             "(payload::jsonb->>'amount')::integer, payload::jsonb->>'name', "
                             "(payload::jsonb->>'account')::integer, "
                             "(payload::jsonb->>'later')::integer, payload::jsonb->>'code'");
    }
    // Dead letters by offset: SQLSTATE.
    std::map<std::int64_t, std::string> dead_letters() {
        std::map<std::int64_t, std::string> found;
        for (const Row& row :
             database().execute("SELECT record_offset, sqlstate FROM dead_letters")) {
            found[std::stoll(*row[0])] = *row[1];
        }
        return found;
    }

    std::string strict_;
    std::optional<EffectSink> strict_sink_;
};

TEST_P(ProcessorTest, OfTwoThousandOnlyThePoisonGoesToTheDeadLettersEachWithItsReason) {
    ScriptedLog log(1);
    const std::vector<Poison> poisons = every_poison();
    std::map<std::int64_t, std::string> expected;
    for (int i = 0; i < 2000; ++i) {
        const std::string key = "k" + std::to_string(i);
        const auto kind = static_cast<std::size_t>(i / 100 - 2);
        if (i % 100 == 50 && kind < poisons.size()) {
            expected[log.append(0, {.key = key, .payload = poisons[kind].payload}).raw()] =
                poisons[kind].sqlstate;
        } else {
            log.append(0, {.key = key, .payload = R"({"amount": 1, "name": "n", "account": 1})"});
        }
    }
    CoreWorker worker(log, *strict_sink_, options());
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(dead_letters(), expected);
    EXPECT_EQ(database().number("SELECT count(*) FROM strict WHERE partition = 0"),
              2000 - static_cast<std::int64_t>(poisons.size()));
    database().execute("DELETE FROM strict WHERE partition = 9");
    EXPECT_THAT(violations(schema_, log, strict_, {.some_rejected = true}), IsEmpty());
    // I15: what landed first has the lower offset, over all transactions that halving made.
    EXPECT_EQ(
        database().number("SELECT count(*) FROM (SELECT record_offset, lag(record_offset) OVER "
                          "(ORDER BY landed) AS before FROM strict) AS s "
                          "WHERE before > record_offset"),
        0);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters WHERE error_class = 'sink' AND "
                                "reason <> '' AND attempts > 0 AND key_text IS NOT NULL"),
              static_cast<std::int64_t>(poisons.size()));
}

// The dead letter keeps the record's own bytes, those that no text column takes as well.
TEST_P(ProcessorTest, ADeadLetterHoldsTheOriginalBytes) {
    ScriptedLog log(1);
    const std::string payload("{\0\xFF", 3);
    log.append(0, {.key = std::string("k\0\xFE", 3), .payload = payload});
    CoreWorker worker(log, *strict_sink_, options());
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(database().value("SELECT encode(payload, 'hex') FROM dead_letters"), "7b00ff");
    EXPECT_EQ(database().value("SELECT encode(record_key, 'hex') FROM dead_letters"), "6b00fe");
}

TEST_P(ProcessorTest, AKeyThatIsBadFirstAndGoodNextIsAppliedOnce) {
    const std::string good = R"({"amount": 1, "name": "n"})";
    ScriptedLog log(2);
    for (const int partition : {0, 1}) {
        log.append(partition, {.key = "before" + std::to_string(partition), .payload = good});
        log.append(partition, {.key = "key", .payload = R"({"amount": -1, "name": "n"})"});
        log.append(partition, {.key = "key", .payload = good});
        log.append(partition, {.key = "key", .payload = good});
    }
    CoreWorker worker(log, *strict_sink_, options());
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(database().number("SELECT count(*) FROM strict WHERE key = 'key'"), 1);
    database().execute("DELETE FROM strict WHERE partition = 9");
    EXPECT_THAT(violations(schema_, log, strict_, {.some_rejected = true}), IsEmpty());
    EXPECT_EQ(worker.totals.applied, 3);
}

// A decoder's rejection claims nothing, so the corrected message is no duplicate of it.
TEST_P(ProcessorTest, ARejectedMessageHoldsNoClaim) {
    ScriptedLog log(1);
    log.append(
        0, {.key = "key", .rejection = Rejection{Rejection::Kind::undecodable, "not JSON", "", 1}});
    log.append(0, {.key = "key"});
    CoreWorker worker(log, sink_, options());
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(effects(), 1);
    expect_no_violations(log);
}

// What was deferred is read once its key is found to be fresh, and then the key is claimed already.
// If it cannot be applied, that claim must go: the corrected message would be a duplicate of
// nothing.
TEST_P(ProcessorTest, ADeferredMessageIsReadWhereItIsFreshAndHoldsNoClaimWhereItIsBad) {
    ScriptedLog log(1);
    log.append(0, {.key = "bad first", .payload = "bad"});
    log.append(0, {.key = "bad first"});
    log.append(0, {.key = "twice"});
    log.append(0, {.key = "twice", .payload = "bad"});
    CoreWorkerOptions deferring = options();
    std::vector<std::int64_t> read;
    deferring.finish = [&](Message& message, std::pmr::memory_resource&) {
        message.deferred = false;
        read.push_back(message.record.offset.raw());
        if (message.record.payload != "bad") return;
        message.rejection = Rejection{Rejection::Kind::undecodable, "not JSON", "", 1};
    };
    CoreWorker worker(log, sink_, deferring);
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(worker.totals, (Totals{.applied = 2, .duplicates = 1, .dead_lettered = 1}));
    EXPECT_EQ(effects("key = 'bad first' AND record_offset = 1"), 1);
    std::ranges::sort(read);
    EXPECT_THAT(read, ElementsAre(0, 1, 2));
}

// A verdict holds for one attempt: what conflicted with a message that turned out bad is fresh once
// that one is gone.
TEST_P(ProcessorTest, AConflictWithABadMessageIsNoConflictOnceThatOneIsGone) {
    ScriptedLog log(1);
    for (const char* amount : {"-1", "2", "2"}) {
        const std::string payload = std::string(R"({"amount": )") + amount + R"(, "name": "n"})";
        log.append(0, {.key = "key", .payload = payload, .fingerprint = digest_of_bytes(payload)});
    }
    CoreWorker worker(log, *strict_sink_, options());
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(worker.totals, (Totals{.applied = 1, .duplicates = 1, .dead_lettered = 1}));
    EXPECT_EQ(database().number("SELECT amount FROM strict WHERE key = 'key'"), 2);
}

// Its error is definite there; as an answer to COMMIT it could be lost with the connection.
TEST_P(ProcessorTest, ADeferredConstraintSpeaksBeforeTheCommitIsSent) {
    ScriptedLog log(1);
    log.append(0, {.key = "key", .payload = R"({"amount": 1, "name": "n", "later": 999})"});
    int commits = 0;
    StepHook count([&](Step step) { commits += step == Step::before_commit ? 1 : 0; });
    CoreWorkerOptions counted = options();
    counted.observer = &count;
    CoreWorker worker(log, *strict_sink_, counted);
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(commits, 1) << "only the dead letter gets as far";
    EXPECT_EQ(dead_letters().size(), 1U);
}

// The fence moves in one round trip with the sink's last check; what it says is not the sink's.
TEST_P(ProcessorTest, AFenceThatIsRefusedIsNoMessagesFault) {
    database().execute(
        "CREATE FUNCTION refuse_fence() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE "
        "check_violation; END $$; CREATE TRIGGER refuse BEFORE UPDATE OF next_offset ON fences FOR "
        "EACH ROW WHEN (new.next_offset > 0) EXECUTE FUNCTION refuse_fence()");
    ScriptedLog log(1);
    append_keys(log, 0, "k", 5);
    CoreWorker worker(log, sink_, options());
    EXPECT_THROW(worker.run(), PostgresError);
    EXPECT_EQ(effects(), 0);
    EXPECT_EQ(dead_letters().size(), 0U);
}

// PARTITION_EOF: control records after the last message are passed without a message.
TEST_P(ProcessorTest, ASpanWithoutMessagesMovesTheFence) {
    ScriptedLog log(1);
    log.leave_gap(0, 12);
    CoreWorker worker(log, sink_, options());
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(fence(0), 12);
    expect_no_violations(log);
}

// Swallows its own error, as a user's sink may.
class SwallowingSink final : public Sink {
  public:
    void write(Transaction& transaction, const BatchContext&,
               std::span<const Message* const>) override {
        try {
            transaction.query("SELECT 1/0");
        } catch (const PostgresError&) {
        }
    }
};

TEST_P(ProcessorTest, ASinkThatSwallowsItsErrorStopsAndMovesNothing) {
    ScriptedLog log(1);
    append_keys(log, 0, "k", 5);
    SwallowingSink sink;
    CoreWorker worker(log, sink, options());
    EXPECT_THROW(worker.run(), PostgresError);
    EXPECT_EQ(fence(0), 0);
    EXPECT_EQ(database().number("SELECT count(*) FROM claims_1_1"), 0);
}

// Fails as if more than two messages exceeded temp_file_limit.
class ExhaustingSink final : public Sink {
  public:
    explicit ExhaustingSink(EffectSink& effects) : effects_(effects) {}
    void write(Transaction& transaction, const BatchContext& context,
               std::span<const Message* const> messages) override {
        if (messages.size() > 2) {
            transaction.query("DO $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = '53400'; END $$");
        }
        effects_.write(transaction, context, messages);
    }

  private:
    EffectSink& effects_;
};

TEST_P(ProcessorTest, WhatExhaustsTheServerAgainAndAgainIsTriedWithFewerMessages) {
    ScriptedLog log(1);
    append_keys(log, 0, "k", 8);
    ExhaustingSink sink(sink_);
    CoreWorker worker(log, sink, options());
    ASSERT_TRUE(worker.run());
    EXPECT_EQ(effects(), 8);
    EXPECT_EQ(fence(0), 8);
    expect_no_violations(log);
}

TEST_P(ProcessorTest, OnRejectHaltStopsInFrontOfTheFirstRejectedMessage) {
    ScriptedLog log(1);
    append_keys(log, 0, "k", 3);
    log.append(0,
               {.key = "bad", .rejection = Rejection{Rejection::Kind::undecodable, "no", "", 1}});
    CoreWorkerOptions halting = options();
    halting.policy.action = RejectPolicy::Action::halt;
    CoreWorker worker(log, sink_, halting);
    const auto halted = halt_of(worker);
    ASSERT_TRUE(halted);
    EXPECT_EQ(halted->offset, Offset{3});
    EXPECT_EQ(fence(0), 3);
    EXPECT_EQ(effects(), 3);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 0);
}

// A bad deploy must not empty a topic into the dead letters; what PostgreSQL quotes of a row stays
// out of the text.
TEST_P(ProcessorTest, TooLargeAShareOfRejectsHaltsTheTopic) {
    ScriptedLog log(1);
    for (int i = 0; i < 100; ++i) {
        log.append(0,
                   {.key = std::to_string(i), .payload = R"({"amount": "secret", "name": "n"})"});
    }
    CoreWorkerOptions capped = options();
    capped.policy = {.cap_share = 0.5, .cap_minimum = 10};
    CoreWorker worker(log, *strict_sink_, capped);
    const auto halted = halt_of(worker);
    ASSERT_TRUE(halted);
    const std::string reason = halted->what();
    EXPECT_EQ(reason.find("secret"), std::string::npos) << reason;
    EXPECT_NE(reason.find("22P02"), std::string::npos) << reason;
    // The batch counts as a whole: none of it goes to the dead letters.
    EXPECT_EQ(dead_letters().size(), 0U);
    EXPECT_EQ(fence(0), 0);
    EXPECT_THROW(worker.run(), TopicHalted);
    // The operator says that more may be refused.
    CoreWorker lenient(log, *strict_sink_, options("lenient"));
    EXPECT_TRUE(lenient.run());
    EXPECT_EQ(dead_letters().size(), 100U);
}

// A batch that times out continues in parts, which take longer than anybody may wait.
TEST_P(ProcessorTest, WhatMustBeGivenBackIsThrownAwayBetweenTheParts) {
    ScriptedLog log(1);
    for (int i = 0; i < 100; ++i) {
        log.append(0,
                   {.key = "k" + std::to_string(i), .payload = R"({"amount": 1, "name": "n"})"});
    }
    database().execute(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "PERFORM pg_sleep(0.02); RETURN new; END $$; "
        "CREATE TRIGGER slow BEFORE INSERT ON strict FOR EACH ROW EXECUTE FUNCTION slow()");
    int commits = 0;
    CoreWorkerOptions slow = options();
    slow.connection.statement_timeout = std::chrono::milliseconds(1500);
    slow.on_commit = [&](const FenceMove&) { ++commits; };
    slow.overdue = [&] { return commits > 0 ? std::set{Partition{0}} : std::set<Partition>{}; };
    CoreWorker worker(log, *strict_sink_, slow);
    ASSERT_TRUE(worker.step());
    EXPECT_EQ(commits, 1);
    EXPECT_TRUE(worker.processor().idle());
    EXPECT_GT(fence(0), 0);
    EXPECT_LT(fence(0), 100);
    // The next owner reads the rest.
    CoreWorker next(log, *strict_sink_, options("next"));
    ASSERT_TRUE(next.run());
    EXPECT_EQ(fence(0), 100);
    EXPECT_EQ(database().number("SELECT count(*) FROM strict WHERE partition = 0"), 100);
}

// What stops a topic throws nothing away: the same batch lands once the table is there.
TEST_P(ProcessorTest, ARunThatStoppedGoesOnWhereItStood) {
    ScriptedLog log(1);
    append_keys(log, 0, "k", 10);
    database().execute("ALTER TABLE effects RENAME TO gone");
    CoreWorker worker(log, sink_, options());
    EXPECT_THROW(worker.run(), PostgresError);
    EXPECT_FALSE(worker.processor().idle());
    database().execute("ALTER TABLE gone RENAME TO effects");
    ASSERT_TRUE(worker.run());
    expect_no_violations(log);
}

INSTANTIATE_TEST_SUITE_P(Ledgers, ProcessorTest, every_ledger, name_of);

}  // namespace
}  // namespace onceward::support
