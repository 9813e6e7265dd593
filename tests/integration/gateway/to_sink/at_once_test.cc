// Requests whose whole transaction is one round trip, as if their keys were new: what happens where
// they are not, where the sink refuses, and where the way to the server is cut.

#include <gmock/gmock.h>

#include <atomic>
#include <future>

#include "gateway/to_sink/sink_batcher.h"
#include "tests/integration/gateway/order_sink.h"
#include "tests/support/cutting_proxy.h"
#include "tests/support/eventually.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

// How often each of them was asked for statements, and how often it wrote with care.
struct Ways {
    std::atomic<int> at_once{0}, with_care{0};
    std::atomic<bool> statement_a_row{false};
};

// Keys and bodies into the table of an order_sink; no results.
class PlainSink final : public Sink {
  public:
    PlainSink(std::string table, Ways& ways)
        : insert_("INSERT INTO " + table + " SELECT * FROM unnest($1::text[], $2::text[])"),
          ways_(ways) {}
    void write(Transaction& transaction, const BatchContext&,
               std::span<const Message* const> messages) override {
        ++ways_.with_care;
        transaction.query(insert_, rows(messages));
    }
    std::optional<std::vector<SinkStatement>> at_once(
        const BatchContext&, std::span<const Message* const> messages) override {
        ++ways_.at_once;
        std::vector<SinkStatement> statements;
        const std::size_t step = ways_.statement_a_row ? 1 : messages.size();
        for (std::size_t at = 0; at < messages.size(); at += step)
            statements.push_back({insert_, rows(messages.subspan(at, step)), {}});
        return statements;
    }

  private:
    static Parameters rows(std::span<const Message* const> messages) {
        std::vector<std::optional<std::string_view>> keys, bodies;
        for (const Message* message : messages) {
            keys.emplace_back(message->key_text);
            bodies.emplace_back(message->record.payload.value());
        }
        return Parameters{}.texts(keys).texts(bodies);
    }
    std::string insert_;
    Ways& ways_;
};

std::string in_short(const KeyedOutcome& outcome) {
    if (const auto* problem = std::get_if<Problem>(&outcome)) {
        return std::to_string(status_of(problem->kind));
    }
    switch (std::get<KeyedAnswer>(outcome).state) {
        case KeyState::fresh: return "fresh";
        case KeyState::replayed: return "replayed";
        case KeyState::in_flight: return "in flight";
        case KeyState::conflict: return "conflict";
    }
    return "";
}

class AtOnceTest : public ::testing::Test {
  protected:
    SinkBatcherOptions options() {
        SinkBatcherOptions options = order_batcher(schema_, table_);
        options.intake = [this, made = options.intake] {
            SinkIntake intake = made();
            intake.sink = std::make_unique<PlainSink>(table_, ways_);
            return intake;
        };
        return options;
    }
    // The first transaction of a session reads what the next ones presume.
    void start(SinkBatcherOptions with) {
        batcher_ = std::make_unique<SinkBatcher>(std::move(with));
        ASSERT_EQ(ask("first"), "fresh");
        ways_.at_once = ways_.with_care = 0;
    }
    // `count` together, with new keys; how they were written.
    std::pair<int, int> ask_many(const std::string& name, int count = 100) {
        std::vector<std::pair<std::string, std::string>> requests;
        for (int i = 0; i < count; ++i) requests.emplace_back(name + std::to_string(i), "body");
        for (auto& answer : submit(requests)) EXPECT_EQ(answer.get(), "fresh");
        return {ways_.at_once.exchange(0), ways_.with_care.exchange(0)};
    }
    // The answer to this request, together with 99 whose keys are new.
    std::string ask_among_many(const std::string& key, const std::string& body) {
        std::vector<std::pair<std::string, std::string>> requests{{key, body}};
        for (int i = 0; i < 99; ++i) requests.emplace_back("among" + std::to_string(i), "body");
        auto answers = submit(requests);
        for (auto& answer : std::span(answers).subspan(1)) EXPECT_EQ(answer.get(), "fresh");
        ways_.at_once = ways_.with_care = 0;
        return answers.front().get();
    }
    std::vector<std::future<std::string>> submit(
        const std::vector<std::pair<std::string, std::string>>& bodies_of_keys) {
        std::vector<KeyedRequest> requests;
        auto promises = std::make_shared<std::vector<std::promise<std::string>>>();
        std::vector<std::future<std::string>> answers;
        for (const auto& [key, body] : bodies_of_keys) {
            requests.push_back(order(key, body));
            answers.push_back(promises->emplace_back().get_future());
        }
        batcher_->submit(std::move(requests), [promises](std::size_t at, KeyedOutcome outcome) {
            (*promises)[at].set_value(in_short(outcome));
        });
        return answers;
    }
    std::string ask(const std::string& key, const std::string& body = "body") {
        return submit({{key, body}}).front().get();
    }
    std::int64_t rows(const std::string& where = "true") {
        return schema_.database().number("SELECT count(*) FROM " + table_ + " WHERE " + where);
    }
    void rotate() {
        schema_.database().execute(
            "SELECT rotate_ledger(ledger, generation) FROM generations WHERE sealed_at IS NULL");
    }

    FreshSchema schema_;
    std::string table_ = order_table(schema_);
    Ways ways_;
    std::unique_ptr<SinkBatcher> batcher_;
};

TEST_F(AtOnceTest, NewKeysNeedNoCareAndTheirRepeatsGetTheirAnswer) {
    start(options());
    EXPECT_EQ(ask("a"), "fresh");
    for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(std::to_string(i)), "fresh");
    EXPECT_LE(ways_.with_care, 1) << "of 21; a slow machine may make one wait";
    EXPECT_EQ(ask("a"), "replayed");
    EXPECT_EQ(ask("a", "another"), "conflict");
    EXPECT_EQ(ask("7"), "replayed");
    EXPECT_EQ(rows(), 22);
    EXPECT_EQ(schema_.database().number("SELECT count(*) FROM results_1_1"), 22);
}

TEST_F(AtOnceTest, ARepeatAmongNewKeysKeepsNoneOfThemBack) {
    start(options());
    auto answers = submit({{"a", "body"}, {"first", "body"}, {"b", "body"}});
    EXPECT_EQ(answers[0].get(), "fresh");
    EXPECT_EQ(answers[1].get(), "replayed");
    EXPECT_EQ(answers[2].get(), "fresh");
    EXPECT_EQ(rows(), 3);
}

// If one of many is known, all of them would be written twice.
TEST_F(AtOnceTest, ManyTogetherNeedNoCareOnlyAfterABatchOfNewKeys) {
    batcher_ = std::make_unique<SinkBatcher>(options());
    EXPECT_EQ(ask_many("a"), std::pair(0, 1));
    EXPECT_EQ(ask_many("b"), std::pair(1, 0));
    EXPECT_EQ(rows(), 200);
    batcher_ = std::make_unique<SinkBatcher>(options());
    EXPECT_EQ(ask("c"), "fresh");
    ways_.at_once = 0;
    EXPECT_EQ(ask_many("d").first, 0) << "one that was new says nothing about many";
    EXPECT_EQ(ask("e"), "fresh");
    ways_.at_once = 0;
    EXPECT_EQ(ask_many("f").first, 1) << "it changes nothing";
}

TEST_F(AtOnceTest, ManyTogetherAreWrittenWithCareAfterABatchWithARepeat) {
    start(options());
    EXPECT_EQ(ask_among_many("first", "body"), "replayed");
    EXPECT_EQ(ask_many("b").first, 0);
    EXPECT_EQ(ask_many("c").first, 1);
}

TEST_F(AtOnceTest, ManyTogetherAreWrittenWithCareAfterABatchWithARefusal) {
    start(options());
    EXPECT_EQ(ask_among_many("x", "bad"), "422");
    EXPECT_EQ(ask_many("c").first, 0) << "the rest of that batch was new, but not the batch";
    EXPECT_EQ(ask_many("d").first, 1);
}

// Each of them is short, but who repeats a key would wait for all of them.
TEST_F(AtOnceTest, ManySlowStatementsAreNotWaitedForInOneRoundTrip) {
    schema_.database().execute(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.key LIKE 's%' "
        "THEN PERFORM pg_sleep(0.03); END IF; RETURN NEW; END $$; CREATE TRIGGER slow BEFORE "
        "INSERT ON " +
        table_ + " FOR EACH ROW EXECUTE FUNCTION slow()");
    ways_.statement_a_row = true;
    start(options());
    EXPECT_EQ(ask_many("s", 32), std::pair(1, 1));
    EXPECT_EQ(rows("key LIKE 's%'"), 32);
}

TEST_F(AtOnceTest, WhatTheSinkRefusesHoldsNoKeyAndTheOthersLand) {
    start(options());
    auto answers = submit({{"a", "body"}, {"x", "bad"}, {"b", "body"}});
    EXPECT_EQ(answers[0].get(), "fresh");
    EXPECT_EQ(answers[1].get(), "422");
    EXPECT_EQ(answers[2].get(), "fresh");
    EXPECT_EQ(ask("x", "good"), "fresh");
    EXPECT_EQ(rows(), 4);
}

// DANGER: where nobody checked which generation is open, a claim would go into a sealed one, where
// nobody looks for it again once that is dropped.
TEST_F(AtOnceTest, ASealedGenerationGetsNoClaimAndItsKeysAreKnown) {
    start(options());
    rotate();
    EXPECT_EQ(ask("a"), "fresh");
    EXPECT_EQ(ways_.with_care, 1) << "another generation was open";
    EXPECT_EQ(schema_.database().number("SELECT count(*) FROM claims_1_1"), 1);
    EXPECT_EQ(schema_.database().number("SELECT count(*) FROM claims_1_2"), 1);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(std::to_string(i)), "fresh");
    EXPECT_LT(ways_.with_care, 10) << "most are at once, with a sealed generation too";
    EXPECT_EQ(ask("first"), "replayed") << "a sealed generation has it";
    EXPECT_EQ(rows("key = 'first'"), 1);
}

// A rotation holds the ledger's lock for a moment: that is no reason to begin again with care.
TEST_F(AtOnceTest, TheLimitsOfARoundTripDoNotLimitItsWaitForTheLedgersLock) {
    start(options());
    Database rotation(schema_.server().dsn);
    rotation.execute("BEGIN; SELECT pg_advisory_xact_lock(1330524999, 1)");
    auto waits = submit({{"a", "body"}});
    ASSERT_TRUE(eventually(30s, [&] {
        return schema_.database().number(
                   "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory' AND "
                   "application_name = 'orders' AND now() - query_start > '500 ms'") > 0;
    })) << "it waits for longer than its limits";
    rotation.execute("ROLLBACK");
    EXPECT_EQ(waits.front().get(), "fresh");
    EXPECT_EQ(ways_.with_care, 0);
}

// Nothing says that a key is worked on before it is claimed with care.
TEST_F(AtOnceTest, WhoRepeatsWhileTheSinkIsSlowHearsSoSoon) {
    schema_.database().execute(
        "CREATE FUNCTION " + schema_.name() +
        ".slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.key = 'slow' THEN PERFORM "
        "pg_sleep(4); END IF; RETURN NEW; END $$; CREATE TRIGGER slow BEFORE INSERT ON " +
        table_ + " FOR EACH ROW EXECUTE FUNCTION " + schema_.name() + ".slow()");
    start(options());
    const auto begun = std::chrono::steady_clock::now();
    auto slow = submit({{"slow", "body"}});
    EXPECT_EQ(ask("slow"), "in flight");
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 3s);
    EXPECT_EQ(slow.front().get(), "fresh");
    EXPECT_EQ(rows("key = 'slow'"), 1);
}

// Cut at its COMMIT or at the answer: the same request again, and its own result is no replay.
TEST_F(AtOnceTest, AConnectionThatIsCutAtTheCommitLeavesItInDoubt) {
    const auto port =
        static_cast<std::uint16_t>(schema_.database().number("SELECT inet_server_port()"));
    CommitTrap trap(port);
    SinkBatcherOptions through = options();
    through.postgres.dsn = trap.proxy.through(through.postgres.dsn.reveal());
    start(through);
    const CommitFault faults[] = {CommitFault::cut_before, CommitFault::cut_inside_request,
                                  CommitFault::cut_after, CommitFault::cut_inside_answer};
    constexpr int rounds = 20;
    for (int round = 0; round < rounds; ++round) {
        // With care, as its session is a new one.
        ASSERT_EQ(ask("before " + std::to_string(round)), "fresh");
        trap.armed = faults[round % 4];
        const std::string key = std::to_string(round);
        EXPECT_EQ(ask(key), "fresh") << round;
        EXPECT_EQ(trap.armed, CommitFault::none) << "the fault was not injected";
        EXPECT_EQ(ask(key), "replayed") << round;
    }
    EXPECT_EQ(rows(), 2 * rounds + 1);
    EXPECT_GE(ways_.at_once, rounds / 4) << "some of them met a round trip of all";
}

}  // namespace
}  // namespace onceward::support
