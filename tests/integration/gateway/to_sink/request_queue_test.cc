// Requests that wait for a batch that hangs, for another request of their key,
// or for an upstream's call; and those for which there is no place to wait.

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "gateway/to_sink/sink_batcher.h"
#include "tests/integration/gateway/order_sink.h"
#include "tests/integration/gateway/upstream_scene.h"
#include "tests/support/core_harness.h"
#include "tests/support/eventually.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

std::future<KeyedOutcome> queued(RequestTarget& target, KeyedRequest request) {
    auto promise = std::make_shared<std::promise<KeyedOutcome>>();
    std::vector<KeyedRequest> requests;
    requests.push_back(std::move(request));
    target.submit(std::move(requests), [promise](std::size_t, KeyedOutcome outcome) {
        promise->set_value(std::move(outcome));
    });
    return promise->get_future();
}

std::future<KeyedOutcome> queued(RequestTarget& target, const std::string& key,
                                 const std::string& body = "body") {
    return queued(target, order(key, body));
}

KeyedRequest without_fingerprint(KeyedRequest request) {
    request.fingerprint.reset();
    return request;
}

// What a request was refused with before submit() came back.
std::optional<Problem> refused_at_once(std::future<KeyedOutcome> outcome) {
    if (outcome.wait_for(0s) != std::future_status::ready) return std::nullopt;
    const KeyedOutcome told = outcome.get();
    const auto* problem = std::get_if<Problem>(&told);
    if (problem == nullptr) return std::nullopt;
    return *problem;
}

// Waits until the batcher's session waits for the lock that a test holds.
bool batch_hangs(FreshSchema& schema) {
    return eventually(30s, [&] {
        return schema.database().number(
                   "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                   "application_name = 'orders'") > 0;
    });
}

// A batch hangs where a test holds the table's lock.
class RequestQueueTest : public testing::Test {
  protected:
    RequestQueueTest() { options_.postgres.lock_timeout = 60s; }
    void hold_batches() { holder_.execute("BEGIN; LOCK TABLE " + table_ + " IN SHARE MODE"); }

    FreshSchema schema_;
    const std::string table_ = order_table(schema_);
    Database holder_{schema_.server().dsn};
    SinkBatcherOptions options_ = order_batcher(schema_, table_);
};

TEST_F(RequestQueueTest, WhoWaitsForItsTurnIsToldAtItsDeadlineHoweverLongTheOthersTake) {
    options_.longest_request = 3s;
    SinkBatcher batcher(options_);
    hold_batches();
    std::future<KeyedOutcome> first = queued(batcher, "first");
    ASSERT_TRUE(batch_hangs(schema_));
    std::future<KeyedOutcome> waits = queued(batcher, "waits");
    const bool told = waits.wait_for(30s) == std::future_status::ready;
    holder_.execute("ROLLBACK");
    ASSERT_TRUE(told) << "it waits for the batch before it";
    const KeyedOutcome outcome = waits.get();
    const auto* problem = std::get_if<Problem>(&outcome);
    ASSERT_NE(problem, nullptr);
    EXPECT_EQ(problem->kind, ProblemKind::unavailable);
    first.wait();
    EXPECT_EQ(schema_.database().number("SELECT count(*) FROM " + table_ + " WHERE key = 'waits'"),
              0);
}

// Another process has its key, and the batch after its last try does not end.
TEST_F(RequestQueueTest, WhoIsHeldForAnotherProcessIsToldThoughTheNextBatchHangs) {
    options_.longest_request = 2s;
    options_.wait = 2s;
    SinkBatcher elsewhere(options_);
    std::atomic<int> tries{0};
    StepHook counts([&](Step step) { tries += step == Step::before_begin ? 1 : 0; });
    options_.observer = &counts;
    SinkBatcher batcher(options_);
    ASSERT_TRUE(std::holds_alternative<KeyedAnswer>(queued(batcher, "before").get()));
    hold_batches();
    std::future<KeyedOutcome> owner = queued(elsewhere, "k");
    ASSERT_TRUE(batch_hangs(schema_));
    const int before = tries;
    std::future<KeyedOutcome> held = queued(batcher, "k");
    ASSERT_TRUE(eventually(20s, [&] { return tries >= before + 3; })) << "it is tried and held";
    std::future<KeyedOutcome> hangs = queued(batcher, "hangs");
    const bool told = held.wait_for(20s) == std::future_status::ready;
    holder_.execute("ROLLBACK");
    EXPECT_TRUE(told);
    held.wait();
    hangs.wait();
    owner.wait();
}

// One comes before the ledger has said that the first is the original, and one after that. No other
// deadline is near.
TEST_F(RequestQueueTest, ARepeatIsToldAfterItsWaitHoweverLongTheTransactionTakes) {
    options_.wait = 1s;
    SinkBatcher batcher(options_);
    ASSERT_TRUE(std::holds_alternative<KeyedAnswer>(queued(batcher, "before").get()));
    hold_batches();
    std::future<KeyedOutcome> first = queued(batcher, "k");
    for (const auto longest : {4s, 15s}) {
        const auto begun = std::chrono::steady_clock::now();
        std::future<KeyedOutcome> repeat = queued(batcher, "k");
        EXPECT_EQ(std::get<KeyedAnswer>(repeat.get()).state, KeyState::in_flight);
        EXPECT_LT(std::chrono::steady_clock::now() - begun, longest);
        ASSERT_TRUE(batch_hangs(schema_));
    }
    holder_.execute("ROLLBACK");
    EXPECT_EQ(std::get<KeyedAnswer>(first.get()).state, KeyState::fresh);
}

// Nobody knows yet that they are repeats. The request with another body must not change that.
TEST_F(RequestQueueTest, RepeatsAtOnceOfAKeyThatEndedAllGetItsAnswerThoughNoneSaysToWait) {
    options_.wait = 0s;
    SinkBatcher batcher(options_);
    ASSERT_TRUE(std::holds_alternative<KeyedAnswer>(queued(batcher, "k").get()));
    hold_batches();
    std::future<KeyedOutcome> before = queued(batcher, "before");
    ASSERT_TRUE(batch_hangs(schema_));
    std::vector<std::future<KeyedOutcome>> repeats;
    std::future<KeyedOutcome> mistake = queued(batcher, "k", "other");
    for (int i = 0; i < 20; ++i) repeats.push_back(queued(batcher, "k"));
    std::promise<StatusOutcome> status;
    batcher.look(0, order("k", "").digest,
                 [&status](StatusOutcome outcome) { status.set_value(std::move(outcome)); });
    std::future<KeyedOutcome> again = queued(batcher, "before");
    const std::optional<bool> runs =
        again.wait_for(20s) == std::future_status::ready
            ? std::optional(std::get<KeyedAnswer>(again.get()).state == KeyState::in_flight)
            : std::nullopt;
    holder_.execute("ROLLBACK");
    EXPECT_EQ(runs, true) << "the original of that key runs";
    EXPECT_EQ(std::get<KeyedAnswer>(mistake.get()).state, KeyState::conflict);
    for (auto& repeat : repeats) {
        EXPECT_EQ(std::get<KeyedAnswer>(repeat.get()).state, KeyState::replayed);
    }
    const StatusOutcome seen = status.get_future().get();
    EXPECT_EQ(std::get<KeyStatus>(seen).state, KeyStatus::State::completed);
    before.wait();
}

// A mistake is under way with a key that is another request's: that one's repeat is no conflict.
TEST_F(RequestQueueTest, ARepeatBehindAMistakeUnderItsKeyGetsItsOwnAnswer) {
    options_.wait = 30s;
    SinkBatcher batcher(options_);
    ASSERT_TRUE(std::holds_alternative<KeyedAnswer>(queued(batcher, "k").get()));
    hold_batches();
    std::future<KeyedOutcome> before = queued(batcher, "before");
    ASSERT_TRUE(batch_hangs(schema_));
    // Both wait for the batch that hangs, and the repeat waits for the mistake.
    std::future<KeyedOutcome> mistake = queued(batcher, "k", "other");
    std::future<KeyedOutcome> repeat = queued(batcher, "k");
    holder_.execute("ROLLBACK");
    EXPECT_EQ(std::get<KeyedAnswer>(mistake.get()).state, KeyState::conflict);
    EXPECT_EQ(std::get<KeyedAnswer>(repeat.get()).state, KeyState::replayed);
    before.wait();
}

// As the mistake that it is, once the first one has the key; where that was refused it passes.
TEST_F(RequestQueueTest, AnotherBodyBehindTheFirstIsJudgedByWhatBecameOfThat) {
    options_.wait = 30s;
    SinkBatcher batcher(options_);
    hold_batches();
    std::future<KeyedOutcome> before = queued(batcher, "before");
    ASSERT_TRUE(batch_hangs(schema_));
    std::future<KeyedOutcome> first = queued(batcher, "taken");
    std::future<KeyedOutcome> other = queued(batcher, "taken", "other");
    std::future<KeyedOutcome> refused = queued(batcher, "free", "bad");
    std::future<KeyedOutcome> corrected = queued(batcher, "free", "good");
    holder_.execute("ROLLBACK");
    EXPECT_EQ(std::get<KeyedAnswer>(first.get()).state, KeyState::fresh);
    EXPECT_EQ(std::get<KeyedAnswer>(other.get()).state, KeyState::conflict);
    EXPECT_EQ(std::get<Problem>(refused.get()).kind, ProblemKind::rejected);
    EXPECT_EQ(std::get<KeyedAnswer>(corrected.get()).state, KeyState::fresh);
    before.wait();
}

TEST_F(RequestQueueTest, WithoutAFingerprintACorrectedBodyIsTriedAfterTheFirstWasRefused) {
    options_.wait = 30s;
    SinkBatcher batcher(options_);
    hold_batches();
    std::future<KeyedOutcome> before = queued(batcher, "before");
    ASSERT_TRUE(batch_hangs(schema_));
    std::future<KeyedOutcome> refused = queued(batcher, without_fingerprint(order("k", "bad")));
    std::future<KeyedOutcome> corrected = queued(batcher, without_fingerprint(order("k", "good")));
    holder_.execute("ROLLBACK");
    EXPECT_EQ(std::get<Problem>(refused.get()).kind, ProblemKind::rejected);
    const KeyedOutcome outcome = corrected.get();
    ASSERT_TRUE(std::holds_alternative<KeyedAnswer>(outcome));
    EXPECT_EQ(std::get<KeyedAnswer>(outcome).state, KeyState::fresh);
    before.wait();
}

TEST_F(RequestQueueTest, WhereTheQueueIsFullTheNextOneIsRefusedAtOnceAndTheOthersLand) {
    options_.waiting = 1;
    SinkBatcher batcher(options_);
    hold_batches();
    std::future<KeyedOutcome> first = queued(batcher, "first");
    ASSERT_TRUE(batch_hangs(schema_));
    std::future<KeyedOutcome> waits = queued(batcher, "waits");
    const std::optional<Problem> refused = refused_at_once(queued(batcher, "refused"));
    holder_.execute("ROLLBACK");
    ASSERT_TRUE(refused) << "it waits too";
    EXPECT_EQ(refused->kind, ProblemKind::unavailable);
    EXPECT_TRUE(refused->retry_after.has_value());
    EXPECT_EQ(std::get<KeyedAnswer>(first.get()).state, KeyState::fresh);
    EXPECT_EQ(std::get<KeyedAnswer>(waits.get()).state, KeyState::fresh);
    const std::string keys = "SELECT string_agg(key, ' ' ORDER BY key) FROM " + table_;
    EXPECT_EQ(schema_.database().value(keys), "first waits");
    const KeyedOutcome again = queued(batcher, "refused").get();
    EXPECT_EQ(std::get<KeyedAnswer>(again).state, KeyState::fresh) << "its key is not free";
    EXPECT_EQ(schema_.database().value(keys), "first refused waits");
}

TEST_F(RequestQueueTest, ARepeatThatWaitsForTheFirstTakesItsPlaceInTheQueueToo) {
    options_.waiting = 1;
    options_.wait = 30s;
    SinkBatcher batcher(options_);
    hold_batches();
    std::future<KeyedOutcome> first = queued(batcher, "k");
    ASSERT_TRUE(batch_hangs(schema_));
    std::future<KeyedOutcome> repeat = queued(batcher, "k");
    const std::optional<Problem> again = refused_at_once(queued(batcher, "k"));
    const std::optional<Problem> other = refused_at_once(queued(batcher, "other"));
    holder_.execute("ROLLBACK");
    ASSERT_TRUE(again && other) << "they wait too";
    EXPECT_EQ(again->kind, ProblemKind::unavailable);
    EXPECT_EQ(other->kind, ProblemKind::unavailable);
    EXPECT_EQ(std::get<KeyedAnswer>(first.get()).state, KeyState::fresh);
    EXPECT_EQ(std::get<KeyedAnswer>(repeat.get()).state, KeyState::replayed);
}

class UpstreamQueueTest : public UpstreamScene {};

TEST_F(UpstreamQueueTest, WhereTheQueueIsFullTheNextOneIsRefusedAtOnceAndTheOthersAreCalled) {
    options_.upstream.concurrency = 1;
    options_.waiting = 1;
    std::promise<void> go = serve_held();
    std::future<std::string> first = submit(order("first", "body"));
    ASSERT_TRUE(eventually(20s, [&] { return server_->calls().size() == 1; }));
    std::future<std::string> waits = submit(order("waits", "body"));
    const std::optional<Problem> refused = refused_at_once(queued(*route_, "refused"));
    go.set_value();
    ASSERT_TRUE(refused) << "it waits too";
    EXPECT_EQ(refused->kind, ProblemKind::unavailable);
    EXPECT_TRUE(refused->retry_after.has_value());
    EXPECT_EQ(first.get(), "201 made body");
    EXPECT_EQ(waits.get(), "201 made body");
    EXPECT_EQ(server_->calls().size(), 2U);
    EXPECT_EQ(state("refused"), "");
    EXPECT_EQ(ask("refused"), "201 made body") << "its key is not free";
}

TEST_F(UpstreamQueueTest, ARepeatThatWaitsForTheFirstTakesItsPlaceInTheQueueToo) {
    options_.upstream.concurrency = 1;
    options_.waiting = 1;
    options_.wait = 30s;
    std::promise<void> go = serve_held();
    std::future<std::string> first = submit(order("k", "body"));
    ASSERT_TRUE(eventually(20s, [&] { return server_->calls().size() == 1; }));
    std::future<std::string> repeat = submit(order("k", "body"));
    const std::optional<Problem> refused = refused_at_once(queued(*route_, "other"));
    go.set_value();
    ASSERT_TRUE(refused) << "it waits too";
    EXPECT_EQ(refused->kind, ProblemKind::unavailable);
    EXPECT_EQ(first.get(), "201 made body");
    EXPECT_EQ(repeat.get(), "replayed 201 made body");
}

}  // namespace
}  // namespace onceward::support
