// Requests to a sink that wait for their turn behind a batch that hangs.

#include <gtest/gtest.h>

#include <future>

#include "gateway/request_batcher.h"
#include "tests/integration/gateway/order_sink.h"
#include "tests/support/eventually.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

std::future<KeyedOutcome> queued(RequestBatcher& batcher, const std::string& key) {
    auto promise = std::make_shared<std::promise<KeyedOutcome>>();
    std::vector<KeyedRequest> requests;
    requests.push_back(order(key, "body"));
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

}  // namespace
}  // namespace onceward::support
