// Requests to an upstream that nobody can repeat, or whose key somebody else has in hand.

#include "tests/integration/gateway/upstream_scene.h"
#include "tests/support/cutting_proxy.h"
#include "tests/support/eventually.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

class UpstreamRepeatTest : public UpstreamScene {};

// Nobody could come again for the lease, which would stay in flight until somebody looked.
TEST_F(UpstreamRepeatTest, WithoutAKeyNothingIsLeftBehindHoweverTheCallEnds) {
    CuttingProxy proxy(CuttingProxy::Protocol::bytes);
    serve(made);
    proxy.set_target(static_cast<std::uint16_t>(server_->port()));
    start(proxy.port());
    ASSERT_EQ(ask("a"), "201 made body");
    EXPECT_EQ(ask(""), "201 made body");
    EXPECT_EQ(ask(""), "201 made body");
    proxy.cut_at(CuttingProxy::Direction::to_client, 1);
    EXPECT_EQ(ask(""), "504 upstream-unanswered");
    proxy.cut_nowhere();
    EXPECT_EQ(ask(""), "201 made body");
    EXPECT_EQ(server_->calls().size(), 5U);
    EXPECT_EQ(schema_.database().number("SELECT count(*) FROM leases"), 1)
        << "that of the request with a key";
    EXPECT_EQ(answers_kept(), 1);
}

// No answer comes from there: it waits as long as the route says, and no longer.
TEST_F(UpstreamRepeatTest, AKeyThatAnotherProcessHoldsIsWaitedForBoundedly) {
    options_.wait = 300ms;
    serve(made);
    ASSERT_EQ(ask("first"), "201 made body");
    crash_with("a", 60s);
    const auto asked = std::chrono::steady_clock::now();
    EXPECT_EQ(ask("a"), "in flight");
    EXPECT_GE(std::chrono::steady_clock::now() - asked, 200ms);
    EXPECT_EQ(server_->calls().size(), 1U);
}

TEST_F(UpstreamRepeatTest, AKeyThatIsFreedElsewhereIsCalledWithinTheWait) {
    options_.wait = 30s;
    serve(made);
    ASSERT_EQ(ask("first"), "201 made body");
    options_.upstream.honours_key = true;
    start(server_->port());
    crash_with("a", 1500ms);
    EXPECT_EQ(ask("a"), "201 made body");
}

// An answer that is looked at behind the call's time is none, and its key would be in doubt.
TEST_F(UpstreamRepeatTest, AnAnswerIsTakenThoughPostgresHasNoneForTheHeartbeat) {
    CuttingProxy proxy(
        CuttingProxy::Protocol::bytes,
        static_cast<std::uint16_t>(std::stoi(schema_.database().value("SHOW port"))));
    options_.postgres.dsn = options_.postgres.dsn.reveal() +
                            " sslmode=disable host=127.0.0.1 port=" + std::to_string(proxy.port());
    options_.ledger.lease = 30s;
    options_.upstream.timeout = 15s;
    std::promise<void> go;
    const std::shared_future<void> gone = go.get_future().share();
    serve([gone](const RecordedCall& call, int number) {
        gone.wait();
        return made(call, number);
    });
    auto answer = submit(order("a", "body"));
    EXPECT_TRUE(eventually(20s, [&] { return server_->calls().size() == 1; }));
    const auto over = std::chrono::steady_clock::now() + 16s;
    proxy.hold_answers(true);
    const std::uint64_t before = proxy.bytes();
    EXPECT_TRUE(eventually(20s, [&] { return proxy.bytes() > before; })) << "no heartbeat";
    go.set_value();
    EXPECT_TRUE(eventually(20s, [&] { return std::chrono::steady_clock::now() > over; }));
    proxy.hold_answers(false);
    EXPECT_EQ(answer.get(), "201 made body");
    EXPECT_EQ(ask("a"), "replayed 201 made body");
}

}  // namespace
}  // namespace onceward::support
