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

// A redrive may take minutes.
TEST(AdminPort, APauseWaitsForNoOtherActAndAnActThatWaitedTooLongIsNotBegun) {
    std::promise<void> begun;
    std::promise<void> go;
    const std::shared_future<void> released = go.get_future().share();
    std::atomic<int> discards = 0;
    AdminConfiguration access;
    access.operate.tokens = {{"alice", Secret("0123456789-operate-01")}};
    const AdminServer server({"127.0.0.1", 0}, {.live = [] { return HealthVerdict{}; },
                                                .ready = [] { return HealthVerdict{}; },
                                                .metrics = [] { return std::string(); },
                                                .access = access,
                                                .act =
                                                    [&](const AdminAct& act) {
                                                        if (act.path == "/api/dlq/redrive") {
                                                            begun.set_value();
                                                            released.wait();
                                                        }
                                                        if (act.path == "/api/dlq/discard")
                                                            ++discards;
                                                        return HttpResponse{.status = 200};
                                                    },
                                                .act_patience = 500ms});
    const auto post = [](RawClient& client, const std::string& path) {
        client.send("POST " + path +
                    " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                    "0123456789-operate-01\r\nOnceward-Act: 1\r\nContent-Type: "
                    "application/json\r\nContent-Length: 2\r\n\r\n{}");
    };
    RawClient redrive(server.address().port);
    RawClient discard(server.address().port);
    RawClient pause(server.address().port);
    post(redrive, "/api/dlq/redrive");
    ASSERT_EQ(begun.get_future().wait_for(30s), std::future_status::ready);
    post(discard, "/api/dlq/discard");
    post(pause, "/api/pause");
    EXPECT_EQ(pause.receive()->status, 200) << "the redrive is still under way";
    EXPECT_FALSE(discard.readable(1000)) << "it waits for its turn";
    go.set_value();
    EXPECT_EQ(redrive.receive()->status, 200);
    EXPECT_EQ(discard.receive()->status, 503);
    EXPECT_EQ(discards, 0);
}

TEST(AdminPort, ANameIsListenedAt) {
    const AdminServer server({"localhost", 0}, {[] { return HealthVerdict{}; }, {}, {}});
    EXPECT_EQ(ask_admin_port(server.address(), "/livez", 5s).status, 200);
}

}  // namespace
}  // namespace onceward::support
