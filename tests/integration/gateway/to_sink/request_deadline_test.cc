// Requests to a sink whose transaction does not end: a COMMIT waits for a standby that is gone, or
// a server does not respond.

#include <gtest/gtest.h>

#include <future>

#include "gateway/to_sink/sink_batcher.h"
#include "tests/integration/gateway/order_sink.h"
#include "tests/support/cutting_proxy.h"
#include "tests/support/eventually.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

TEST(RequestDeadline, IsKeptInATransactionThatDoesNotEndAndItsEffectIsOneAllTheSame) {
    FreshSchema schema;
    const std::string table = order_table(schema);
    const auto port = static_cast<std::uint16_t>(std::stoi(schema.database().value("SHOW port")));
    CommitTrap trap(port);
    SinkBatcherOptions options = order_batcher(schema, table);
    options.postgres.dsn = trap.proxy.through(options.postgres.dsn.reveal());
    options.longest_request = 2s;
    SinkBatcher batcher(options);
    const auto submit = [&](const std::string& key) {
        auto promise = std::make_shared<std::promise<KeyedOutcome>>();
        std::vector<KeyedRequest> requests;
        requests.push_back(order(key, "body"));
        batcher.submit(std::move(requests), [promise](std::size_t, KeyedOutcome outcome) {
            promise->set_value(std::move(outcome));
        });
        return promise->get_future();
    };
    const auto look = [&](const std::string& key) {
        auto promise = std::make_shared<std::promise<StatusOutcome>>();
        batcher.look(0, order(key, "").digest,
                     [promise](StatusOutcome outcome) { promise->set_value(std::move(outcome)); });
        return promise->get_future();
    };
    ASSERT_TRUE(std::holds_alternative<KeyedAnswer>(submit("first").get()));
    trap.armed = CommitFault::hole_after;
    std::future<KeyedOutcome> stuck = submit("stuck");
    ASSERT_TRUE(eventually(30s, [&] { return trap.armed == CommitFault::none; }));
    bool told = stuck.wait_for(30s) == std::future_status::ready;
    // From here on there is no other deadline than that of each of these.
    std::future<StatusOutcome> asked = look("first");
    told = told && asked.wait_for(30s) == std::future_status::ready;
    std::future<KeyedOutcome> queued = submit("queued");
    told = told && queued.wait_for(30s) == std::future_status::ready;
    const auto running = std::get<KeyStatus>(look("stuck").get());
    trap.proxy.cut_all();
    ASSERT_TRUE(told) << "its connection would be held for ever";
    EXPECT_EQ(std::get<Problem>(stuck.get()).kind, ProblemKind::unavailable);
    EXPECT_EQ(std::get<Problem>(asked.get()).kind, ProblemKind::unavailable);
    EXPECT_EQ(std::get<Problem>(queued.get()).kind, ProblemKind::unavailable);
    EXPECT_EQ(running.state, KeyStatus::State::in_flight);
    // It took effect, and a repeat gets its answer.
    EXPECT_TRUE(eventually(30s, [&] {
        const KeyedOutcome again = submit("stuck").get();
        const auto* answer = std::get_if<KeyedAnswer>(&again);
        return answer != nullptr && answer->state == KeyState::replayed;
    }));
    EXPECT_EQ(schema.database().number("SELECT count(*) FROM " + table), 2);
}

}  // namespace
}  // namespace onceward::support
