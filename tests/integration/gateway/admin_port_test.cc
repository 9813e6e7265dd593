// The admin port with peers that are slow, many, or in no hurry.

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "cli/admin/admin_server.h"
#include "tests/integration/gateway/raw_client.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class AdminPortTest : public ::testing::Test {
  protected:
    AdminAnswer ask(const std::string& path) const {
        return ask_admin_port(server_.address(), path, 1s);
    }
    std::promise<void> go_;
    std::shared_future<void> released_ = go_.get_future().share();
    bool held_ = false;
    AdminServer server_{{"127.0.0.1", 0},
                        {[] { return HealthVerdict{}; }, [] { return HealthVerdict{}; },
                         [this] {
                             if (held_) released_.wait();
                             return std::string("metric 1\n");
                         }}};
};

TEST_F(AdminPortTest, AVerdictNamesItsProcess) {
    AdminServer mine({"127.0.0.1", 0}, {.live = [] { return HealthVerdict{}; },
                                        .ready = [] { return HealthVerdict{}; },
                                        .metrics = [] { return std::string(); },
                                        .group = "mine"});
    EXPECT_EQ(ask_admin_port(mine.address(), "/livez", 5s).process, name_of("mine"));
    EXPECT_NE(ask("/livez").process, name_of("mine"));
}

TEST_F(AdminPortTest, SlowConnectionsKeepNobodyFromAnAnswer) {
    std::vector<std::unique_ptr<RawClient>> slow;
    for (int i = 0; i < 8; ++i) {
        slow.push_back(std::make_unique<RawClient>(server_.address().port));
        slow.back()->send("GET /metrics HTTP/1.1\r\nHost: a\r\n");
    }
    std::atomic<bool> done = false;
    std::thread trickle([&] {
        while (!done) {
            for (auto& client : slow) {
                try {
                    client->send("X");
                } catch (const std::runtime_error&) {  // its time was over
                }
            }
            released_.wait_for(100ms);
        }
    });
    const auto end = Clock::now() + 2s;
    do {
        EXPECT_EQ(ask("/livez").status, 200);
        EXPECT_EQ(ask("/readyz").status, 200);
        EXPECT_EQ(ask("/metrics").body, "metric 1\n");
    } while (Clock::now() < end);
    done = true;
    trickle.join();
}

TEST_F(AdminPortTest, MetricsThatWaitKeepNoVerdictFromItsAnswer) {
    held_ = true;
    RawClient waiting(server_.address().port);
    waiting.send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(ask("/livez").status, 200);
    EXPECT_FALSE(waiting.readable(100));
    go_.set_value();
    EXPECT_EQ(waiting.receive()->body, "metric 1\n");
}

TEST_F(AdminPortTest, ARequestHasATimeAndOnlyItsOwnPaths) {
    RawClient slow(server_.address().port);
    slow.send("GET /livez HTTP/1.1\r\nHost: a\r\n");
    EXPECT_EQ(ask("/other").status, 404);
    RawClient other(server_.address().port);
    EXPECT_EQ(other.ask("POST", "/livez")->status, 405);
    EXPECT_EQ(other.ask("HEAD", "/livez")->status, 200);
    EXPECT_EQ(slow.receive()->status, 408);
}

TEST(AdminPort, ANameIsListenedAt) {
    const AdminServer server({"localhost", 0}, {[] { return HealthVerdict{}; }, {}, {}});
    EXPECT_EQ(ask_admin_port(server.address(), "/livez", 5s).status, 200);
}

}  // namespace
}  // namespace onceward::support
