// The server with as many connections as it may have, and what it answers by itself.

#include <gmock/gmock.h>

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "gateway/http/server.h"
#include "tests/integration/gateway/held_answers.h"
#include "tests/integration/gateway/raw_client.h"
#include "tests/support/eventually.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;

class ServerRoom : public ::testing::Test {
  protected:
    ServerRoom() {
        options_.port = 0;
        options_.limits.body_bytes = 1000;
        options_.limits.header_bytes = 2048;
    }
    void start(HttpServer::Handler handler = [](const HttpRequest&,
                                                const HttpServer::Answer& answer) { answer({}); }) {
        server_ = std::make_unique<HttpServer>(options_, std::move(handler), [this](int status) {
            const std::lock_guard lock(mutex_);
            refused_.push_back(status);
        });
        server_->start();
    }
    static std::string type(const std::optional<RawResponse>& response) {
        if (!response) return "nothing";
        const std::string whole = nlohmann::json::parse(response->body).at("type");
        return std::to_string(response->status) + " " + whole.substr(whole.rfind('/') + 1);
    }

    ServerOptions options_;
    std::mutex mutex_;
    std::vector<int> refused_;
    HeldAnswers held_;
    std::unique_ptr<HttpServer> server_;
};

TEST_F(ServerRoom, WhatItAnswersByItselfIsTold) {
    options_.limits.head_time = 300ms;
    start();
    RawClient garbage(server_->port()), large(server_->port()), head(server_->port());
    RawClient slow(server_->port());
    slow.send("GET / HTTP/1.1\r\nX-Slow: ");
    garbage.send("garbage\r\n\r\n");
    EXPECT_EQ(type(garbage.receive()), "400 malformed-request");
    large.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4000\r\n\r\n");
    EXPECT_EQ(type(large.receive()), "413 body-too-large");
    head.send("GET / HTTP/1.1\r\nHost: a\r\nX-Long: " + std::string(4000, 'x') + "\r\n\r\n");
    EXPECT_EQ(type(head.receive()), "431 headers-too-large");
    EXPECT_EQ(type(slow.receive()), "408 request-timeout") << "the time of a head is its own";
    EXPECT_EQ(RawClient(server_->port()).ask("GET", "/")->status, 200);
    const std::lock_guard lock(mutex_);
    EXPECT_THAT(refused_, testing::ElementsAre(400, 413, 431, 408));
}

TEST_F(ServerRoom, WhoeverIsIdleLongestGoesForSomebodyWhoWaits) {
    options_.limits.connections = 3;
    options_.limits.idle_time = 60s;
    start();
    RawClient silent(server_->port()), used(server_->port()), busy(server_->port());
    EXPECT_EQ(used.ask("GET", "/")->status, 200);
    EXPECT_EQ(busy.ask("GET", "/")->status, 200);
    RawClient four(server_->port());
    ASSERT_EQ(four.ask("GET", "/four")->status, 200);
    EXPECT_FALSE(silent.receive()) << "it sent nothing, and was the oldest";
    EXPECT_EQ(server_->counts().open, 3);
    EXPECT_EQ(server_->counts().full, 1);
    EXPECT_EQ(server_->counts().closed_idle, 1);
    EXPECT_EQ(busy.ask("GET", "/")->status, 200);
    RawClient five(server_->port());
    EXPECT_EQ(five.ask("GET", "/five")->status, 200);
    EXPECT_FALSE(used.receive());
    EXPECT_EQ(busy.ask("GET", "/")->status, 200);
}

// They are within their time, and would be for half a minute.
TEST_F(ServerRoom, SlowSendersGiveWayToSomebodyWhoWaits) {
    options_.limits.connections = 1;
    start();
    const std::string slow[] = {
        "GET / HTTP/1.1\r\nX-Slow: ",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\nslow"};
    int closed = 0;
    for (const std::string& part : slow) {
        // Those of the round before are gone, or the sender itself would wait for room.
        ASSERT_TRUE(eventually(20s, [&] { return server_->counts().open == 0; }));
        RawClient sender(server_->port());
        sender.send(part);
        RawClient waits(server_->port());
        const auto begun = std::chrono::steady_clock::now();
        EXPECT_EQ(waits.ask("GET", "/waits")->status, 200);
        EXPECT_LT(std::chrono::steady_clock::now() - begun, 20s);
        EXPECT_EQ(type(sender.receive()), "408 request-timeout");
        EXPECT_EQ(server_->counts().closed_slow, ++closed);
    }
}

// The end of one, whose peer does not close, takes two seconds by itself.
TEST_F(ServerRoom, SlowSendersGiveWayWithoutWaitingForEachOther) {
    constexpr std::size_t many = 8;
    options_.limits.connections = many;
    start(held_.handler());
    std::vector<std::unique_ptr<RawClient>> senders, waiting;
    for (std::size_t i = 0; i < many; ++i) {
        senders.push_back(std::make_unique<RawClient>(server_->port()));
        senders.back()->send("GET / HTTP/1.1\r\nX-Slow: ");
    }
    EXPECT_FALSE(senders.back()->readable(200)) << "their first bytes have arrived";
    for (std::size_t i = 0; i < many; ++i) {
        waiting.push_back(std::make_unique<RawClient>(server_->port()));
        waiting.back()->send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    EXPECT_TRUE(eventually(8s, [&] { return held_.count() == many; })) << held_.count();
    EXPECT_EQ(server_->counts().closed_slow, std::int64_t{many});
    for (auto& sender : senders) EXPECT_EQ(type(sender->receive()), "408 request-timeout");
    held_.release_all();
    for (auto& client : waiting) EXPECT_EQ(client->receive()->status, 200);
}

TEST_F(ServerRoom, APeerThatDoesNotReadItsAnswerGivesWayToSomebodyWhoWaits) {
    options_.limits.connections = 1;
    start([](const HttpRequest& request, const HttpServer::Answer& answer) {
        // More than the kernel keeps for a peer that does not read.
        const std::size_t size = request.target == "/large" ? 64'000'000U : 0U;
        answer({.status = 200, .headers = {}, .body = std::string(size, 'a')});
    });
    RawClient reader(server_->port());
    reader.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(reader.readable(20'000));
    RawClient waits(server_->port());
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(waits.ask("GET", "/waits")->status, 200);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, 20s);
    EXPECT_EQ(server_->counts().closed_slow, 1);
    EXPECT_FALSE(reader.receive()) << "it has got all of it";
}

}  // namespace
}  // namespace onceward::support
