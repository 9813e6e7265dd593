// Requests to a sink that wait for their turn behind a batch that hangs, or behind another request
// of their key.

#include <gtest/gtest.h>

#include <future>

#include "gateway/request_batcher.h"
#include "tests/integration/gateway/order_sink.h"
#include "tests/support/eventually.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

std::future<KeyedOutcome> queued(RequestBatcher& batcher, const std::string& key,
                                 const std::string& body = "body") {
    auto promise = std::make_shared<std::promise<KeyedOutcome>>();
    std::vector<KeyedRequest> requests;
    requests.push_back(order(key, body));
    batcher.submit(std::move(requests), [promise](std::size_t, KeyedOutcome outcome) {
        promise->set_value(std::move(outcome));
    });
    return promise->get_future();
}

TEST(RequestQueueTest, WhoWaitsForItsTurnIsToldAtItsDeadlineHoweverLongTheOthersTake) {
    FreshSchema schema;
    const std::string table = order_table(schema);
    Database holder(schema.server().dsn);
    RequestBatcherOptions options = order_batcher(schema, table);
    options.postgres.lock_timeout = 60s;
    options.longest_request = 5s;
    RequestBatcher batcher(options);
    holder.execute("BEGIN; LOCK TABLE " + table + " IN SHARE MODE");
    std::future<KeyedOutcome> first = queued(batcher, "first");
    ASSERT_TRUE(eventually(30s, [&] {
        return schema.database().number(
                   "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                   "application_name = 'orders'") > 0;
    }));
    std::future<KeyedOutcome> waits = queued(batcher, "waits");
    const bool told = waits.wait_for(30s) == std::future_status::ready;
    holder.execute("ROLLBACK");
    ASSERT_TRUE(told) << "it waits for the batch before it";
    const KeyedOutcome outcome = waits.get();
    const auto* problem = std::get_if<Problem>(&outcome);
    ASSERT_NE(problem, nullptr);
    EXPECT_EQ(problem->kind, ProblemKind::unavailable);
    first.wait();
    EXPECT_EQ(schema.database().number("SELECT count(*) FROM " + table + " WHERE key = 'waits'"),
              0);
}

// A mistake is under way with a key that is another request's: that one's repeat is no conflict.
TEST(RequestQueueTest, ARepeatBehindAMistakeUnderItsKeyGetsItsOwnAnswer) {
    FreshSchema schema;
    const std::string table = order_table(schema);
    Database holder(schema.server().dsn);
    RequestBatcherOptions options = order_batcher(schema, table);
    options.postgres.lock_timeout = 60s;
    options.wait = 30s;
    RequestBatcher batcher(options);
    ASSERT_TRUE(std::holds_alternative<KeyedAnswer>(queued(batcher, "k").get()));
    holder.execute("BEGIN; LOCK TABLE " + table + " IN SHARE MODE");
    std::future<KeyedOutcome> before = queued(batcher, "before");
    ASSERT_TRUE(eventually(30s, [&] {
        return schema.database().number(
                   "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                   "application_name = 'orders'") > 0;
    }));
    // Both stand behind the batch that hangs, and the repeat behind the mistake.
    std::future<KeyedOutcome> mistake = queued(batcher, "k", "other");
    std::future<KeyedOutcome> repeat = queued(batcher, "k");
    holder.execute("ROLLBACK");
    EXPECT_EQ(std::get<KeyedAnswer>(mistake.get()).state, KeyState::conflict);
    EXPECT_EQ(std::get<KeyedAnswer>(repeat.get()).state, KeyState::replayed);
    before.wait();
}

// As the mistake that it is, once the first one has the key; where that was refused it passes.
TEST(RequestQueueTest, AnotherBodyBehindTheFirstIsJudgedByWhatBecameOfThat) {
    FreshSchema schema;
    const std::string table = order_table(schema);
    Database holder(schema.server().dsn);
    RequestBatcherOptions options = order_batcher(schema, table);
    options.postgres.lock_timeout = 60s;
    options.wait = 30s;
    RequestBatcher batcher(options);
    holder.execute("BEGIN; LOCK TABLE " + table + " IN SHARE MODE");
    std::future<KeyedOutcome> before = queued(batcher, "before");
    ASSERT_TRUE(eventually(30s, [&] {
        return schema.database().number(
                   "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                   "application_name = 'orders'") > 0;
    }));
    std::future<KeyedOutcome> first = queued(batcher, "taken");
    std::future<KeyedOutcome> other = queued(batcher, "taken", "other");
    std::future<KeyedOutcome> refused = queued(batcher, "free", "bad");
    std::future<KeyedOutcome> corrected = queued(batcher, "free", "good");
    holder.execute("ROLLBACK");
    EXPECT_EQ(std::get<KeyedAnswer>(first.get()).state, KeyState::fresh);
    EXPECT_EQ(std::get<KeyedAnswer>(other.get()).state, KeyState::conflict);
    EXPECT_EQ(std::get<Problem>(refused.get()).kind, ProblemKind::rejected);
    EXPECT_EQ(std::get<KeyedAnswer>(corrected.get()).state, KeyState::fresh);
    before.wait();
}

}  // namespace
}  // namespace onceward::support
