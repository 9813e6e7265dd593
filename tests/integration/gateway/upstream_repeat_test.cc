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

}  // namespace
}  // namespace onceward::support
