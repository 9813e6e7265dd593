// Replies to messages whose effect is outside of PostgreSQL: written with the effect's end, once
// more for each duplicate.

#include <gmock/gmock.h>

#include "dedup/sink/packed_headers.h"
#include "sinks/outbox/outbox_rows.h"
#include "tests/integration/dedup/leases/lease_fixture.h"

namespace onceward::support {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// `answer to KEY`; of keys that begin with `bad` a failure for good.
std::optional<EffectOutcome> answered(const std::string& key, int) {
    const bool bad = key.starts_with("bad");
    EffectOutcome outcome = bad ? ScriptedEffects::failed() : ScriptedEffects::done();
    if (bad) outcome.result.kind = MessageResult::Kind::failed;
    outcome.result.headers = {{"Content-Type", "text/plain"},
                              {"Set-Cookie", "a=b"},
                              {"X-Request-Id", "17"},
                              {"X-Host", "inside"}};
    outcome.result.body = "answer to " + key;
    return outcome;
}

class LeaseReplies : public LeaseTest {
  protected:
    LeaseWorkerOptions replying() {
        LeaseWorkerOptions options;
        options.keeps_answers = true;
        options.answers.reply.topic = "replies";
        options.replies = &replies_;
        return options;
    }
    // `KEY: BODY [HEADER=VALUE;...]` of each, in the order in which they were written.
    std::vector<std::string> replied(LeaseWorker& worker) {
        const QueryResult rows = worker.connection.prepared(
            "SELECT record_key, payload, headers FROM {schema}.outbox WHERE topic = 'replies' "
            "ORDER BY position",
            {}, {}, true);
        std::vector<std::string> all;
        for (int row = 0; row < rows.rows(); ++row) {
            std::string headers;
            for (const Header& header : headers_of(rows.text(row, 2))) {
                headers +=
                    std::string(header.name) + "=" + std::string(header.value.value_or("")) + ";";
            }
            all.push_back(std::string(rows.text(row, 0)) + ": " + std::string(rows.text(row, 1)) +
                          " [" + headers + "]");
        }
        return all;
    }

    OutboxReplies replies_{"group"};
};

TEST_F(LeaseReplies, EachMessageIsAnsweredAndADuplicateAsTheFirstWas) {
    ScriptedLog log(1);
    for (const char* key : {"a", "bad", "a", "bad"}) log.append(0, {.key = key});
    ScriptedEffects effects(answered);
    LeaseWorker worker(*this, log, effects, replying());
    worker.run_all();
    EXPECT_EQ(effects.order.size(), 2U);
    EXPECT_EQ(totals(), "1 2 0 1 0");
    const std::string good = "a: answer to a [content-type=text/plain;onceward-status=200;";
    const std::string bad =
        "bad: answer to bad [content-type=text/plain;onceward-status=422;onceward-failed=true;";
    const std::string replayed = "onceward-replayed=true;]";
    EXPECT_THAT(replied(worker),
                UnorderedElementsAre(good + "]", bad + "]", good + replayed, bad + replayed));
    EXPECT_EQ(database().number("SELECT count(DISTINCT id) FROM outbox"), 4)
        << "each answers another message";
}

// Another worker has called, and remembers nothing of it here.
TEST_F(LeaseReplies, ADuplicateIsAnsweredAlsoByAWorkerThatDidNotCall) {
    ScriptedLog log(1);
    log.append(0, {.key = "a"});
    ScriptedEffects effects(answered);
    LeaseWorker(*this, log, effects, replying()).run_all();
    log.append(0, {.key = "a"});
    LeaseWorker next(*this, log, effects, replying());
    next.run_all();
    EXPECT_EQ(effects.calls["a"], 1);
    EXPECT_EQ(replied(next).size(), 2U);
    EXPECT_THAT(replied(next).back(), ::testing::EndsWith("onceward-replayed=true;]"));
}

TEST_F(LeaseReplies, OnlyHeadersThatAreAllowedAreKeptAndSent) {
    ScriptedLog log(1);
    for (const char* key : {"a", "a"}) log.append(0, {.key = key});
    ScriptedEffects effects(answered);
    LeaseWorkerOptions options = replying();
    options.answers.limits.headers = {"x-request-id"};
    LeaseWorker worker(*this, log, effects, options);
    worker.run_all();
    const std::string first = "a: answer to a [x-request-id=17;onceward-status=200;";
    EXPECT_THAT(replied(worker), ElementsAre(first + "]", first + "onceward-replayed=true;]"));
    const Digest key = scripted_digest("a");
    EXPECT_EQ(worker.results->get(worker.connection, {&key, 1})[0].value().headers,
              (ResultHeaders{{"x-request-id", "17"}}));
}

// Erases the results of the keys without a tenant before it writes.
class RepliesAfterAnErasure final : public Replies {
  public:
    RepliesAfterAnErasure(Replies& replies, Database& database)
        : replies_(replies), database_(database) {}
    void write(Transaction& transaction, std::span<const Reply> replies) override {
        database_.execute("SELECT erase_results(1, '', 'a test')");
        replies_.write(transaction, replies);
    }

  private:
    Replies& replies_;
    Database& database_;
};

TEST_F(LeaseReplies, ADuplicateIsNotAnsweredIfTheAnswerWasErasedBeforeTheReplyWasWritten) {
    ScriptedLog log(1);
    log.append(0, {.key = "a"});
    ScriptedEffects effects(answered);
    LeaseWorker(*this, log, effects, replying()).run_all();
    log.append(0, {.key = "a"});
    RepliesAfterAnErasure replies(replies_, database());
    LeaseWorkerOptions options = replying();
    options.replies = &replies;
    LeaseWorker next(*this, log, effects, options);
    next.run_all();
    EXPECT_EQ(next.totals, (Totals{.duplicates = 1}));
    EXPECT_EQ(replied(next).size(), 1U) << "the first answer alone";
}

TEST_F(LeaseReplies, AReplyIsWrittenWithTheEndOrNotAtAll) {
    ScriptedLog log(1);
    log.append(0, {.key = "a"});
    ScriptedEffects effects(answered);
    bool fails = true;
    StepHook hook([&](Step step) {
        if (step == Step::after_sink && fails) throw Enough{};
    });
    LeaseWorkerOptions options = replying();
    options.observer = &hook;
    LeaseWorker worker(*this, log, effects, options);
    worker.start();
    EXPECT_THROW(worker.run(), Enough);
    EXPECT_EQ(effects.calls["a"], 1);
    EXPECT_THAT(replied(worker), IsEmpty());
    fails = false;
    EXPECT_TRUE(worker.run());
    EXPECT_EQ(effects.calls["a"], 1);
    EXPECT_EQ(replied(worker).size(), 1U);
}

}  // namespace
}  // namespace onceward::support
