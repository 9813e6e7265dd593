// The server alone, over real sockets: its limits, what it answers by itself, and its end.

#include "gateway/http/server.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/integration/gateway/held_answers.h"
#include "tests/integration/gateway/raw_client.h"
#include "tests/support/certificates.h"
#include "tests/support/eventually.h"
#include "tests/support/unique.h"

namespace onceward::support {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class ServerTest : public ::testing::Test {
  protected:
    ServerTest() {
        options_.port = 0;
        options_.limits.body_bytes = 1000;
        options_.limits.header_bytes = 2048;
    }
    ~ServerTest() override {
        held_.release_all();
    }
    void start(HttpServer::Handler handler = {}) {
        if (!handler)
            handler = [](HttpRequest request, HttpServer::Answer answer) { answer(echo(request)); };
        server_ = std::make_unique<HttpServer>(options_, std::move(handler));
        server_->start();
    }
    void release_all() { held_.release_all({.status = 200, .headers = {}, .body = "late"}); }
    static HttpResponse echo(const HttpRequest& request) {
        std::string text = request.method + " " + request.target + "\n";
        for (const auto& [name, value] : request.headers) text += name + "=" + value + "\n";
        return {.status = 200, .headers = {{"X-Own", "1"}}, .body = text + request.body};
    }
    RawClient client() const { return RawClient(server_->port()); }
    static std::string type(const std::optional<RawResponse>& response) {
        if (!response) return "no answer";
        EXPECT_EQ(response->headers.at("content-type"), "application/problem+json");
        EXPECT_EQ(response->headers.at("connection"), "close");
        const std::string whole = nlohmann::json::parse(response->body).at("type");
        return std::to_string(response->status) + " " + whole.substr(whole.find_last_of(":/") + 1);
    }

    ServerOptions options_;
    HeldAnswers held_;
    std::unique_ptr<HttpServer> server_;
};

TEST_F(ServerTest, ARequestComesWholeAndItsAnswerGoesBack) {
    start();
    RawClient client(server_->port());
    const auto response = client.ask("PATCH", "/a?b=c%20d", "X-One: 1\r\nx-one:  2 \r\n", "body");
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 200);
    EXPECT_THAT(response->body, HasSubstr("PATCH /a?b=c%20d\n"));
    EXPECT_THAT(response->body, HasSubstr("X-One=1\nx-one=2\n"));
    EXPECT_TRUE(response->body.ends_with("\nbody"));
    EXPECT_EQ(response->headers.at("x-own"), "1");
    EXPECT_EQ(response->headers.at("date").size(), 29U);
}

TEST_F(ServerTest, AConnectionServesOneRequestAfterTheOther) {
    start();
    RawClient client(server_->port());
    for (int i = 0; i < 3; ++i) {
        EXPECT_THAT(client.ask("GET", "/" + std::to_string(i))->body,
                    HasSubstr("GET /" + std::to_string(i)));
    }
    client.send("GET /3 HTTP/1.1\r\nHost: a\r\n\r\nGET /4 HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_THAT(client.receive()->body, HasSubstr("GET /3"));
    EXPECT_THAT(client.receive()->body, HasSubstr("GET /4"));
    EXPECT_EQ(client.ask("GET", "/5", "Connection: close\r\n")->headers.at("connection"), "close");
    EXPECT_FALSE(client.receive());
}

TEST_F(ServerTest, AnAnswerMayComeLaterAndFromAnotherThread) {
    start(held_.handler());
    RawClient one(server_->port()), two(server_->port());
    one.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n");
    two.send("GET /2 HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(eventually(10s, [&] { return held_.count() == 2; }));
    std::thread([&] { release_all(); }).join();
    EXPECT_EQ(one.receive()->body, "late");
    EXPECT_EQ(two.receive()->body, "late");
}

TEST_F(ServerTest, ABodyAboveTheLimitIsA413) {
    start();
    EXPECT_THAT(client().ask("POST", "/", "", std::string(1000, 'a'))->body, HasSubstr("aaa"));
    EXPECT_EQ(type(client().ask("POST", "/", "", std::string(1001, 'a'))), "413 body-too-large");
    RawClient chunked(server_->port());
    chunked.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" +
                 std::string(1001, 'a') + "\r\n0\r\n\r\n");
    EXPECT_EQ(type(chunked.receive()), "413 body-too-large");
}

TEST_F(ServerTest, HeadersAboveTheLimitAreA431) {
    start();
    const std::string filler(2100, 'a');
    EXPECT_EQ(type(client().ask("GET", "/", "X-Long: " + filler + "\r\n")),
              "431 headers-too-large");
    EXPECT_EQ(type(client().ask("GET", "/" + filler)), "431 headers-too-large");
    std::string many;
    for (int i = 0; i < 200; ++i) many += "X-" + std::to_string(i) + ": 12345\r\n";
    EXPECT_EQ(type(client().ask("GET", "/", many)), "431 headers-too-large");
}

TEST_F(ServerTest, MoreFieldsThanAnybodyNeedsAreA431) {
    options_.limits.header_bytes = 16'384;
    start();
    std::string fields;
    for (int i = 0; i < 250; ++i) fields += "a:\r\n";
    EXPECT_EQ(client().ask("GET", "/", fields)->status, 200);
    for (int i = 0; i < 10; ++i) fields += "a:\r\n";
    EXPECT_EQ(type(client().ask("GET", "/", fields)), "431 headers-too-large");
}

TEST_F(ServerTest, WhatIsNoRequestIsA400) {
    start();
    for (const char* bytes :
         {"GARBAGE\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
          // Two lengths: what one reader takes for a body is a request to another.
          "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: "
          "chunked\r\n\r\n0\r\n",
          "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na",
          "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"}) {
        RawClient one(server_->port());
        one.send(bytes);
        EXPECT_EQ(type(one.receive()), "400 malformed-request") << bytes;
    }
}

// A client must not send after its body what a proxy removes or sets in the head.
TEST_F(ServerTest, FieldsBehindTheBodyAreNoHeaders) {
    start();
    RawClient one(server_->port());
    one.send(
        "POST / HTTP/1.1\r\nHost: a\r\nX-Head: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
        "4\r\nbody\r\n0\r\nX-Tenant: another's\r\nX-Head: 2\r\n\r\n");
    const auto response = one.receive();
    ASSERT_TRUE(response);
    EXPECT_THAT(response->body, HasSubstr("X-Head=1\n"));
    EXPECT_THAT(response->body, Not(HasSubstr("X-Tenant")));
    EXPECT_THAT(response->body, Not(HasSubstr("X-Head=2")));
    EXPECT_TRUE(response->body.ends_with("body"));
    EXPECT_EQ(one.ask("GET", "/next")->status, 200);
}

// The parser throws for it, in the thread that serves all connections.
TEST_F(ServerTest, AFieldAboveAllLimitsEndsItsConnectionAlone) {
    start();
    RawClient other(server_->port());
    ASSERT_TRUE(other.ask("GET", "/"));
    RawClient one(server_->port());
    one.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Long: " +
             std::string(70'000, 'a') + "\r\n\r\n");
    EXPECT_TRUE(one.readable(20'000)) << "its end, or an answer";
    EXPECT_EQ(other.ask("GET", "/")->status, 200);
    EXPECT_EQ(client().ask("GET", "/")->status, 200);
}

TEST_F(ServerTest, AnAnswersHeaderThatNoHeadCanHoldIsLeftOut) {
    start([](HttpRequest, HttpServer::Answer answer) {
        answer({.status = 201,
                .headers = {{"X-Long", std::string(70'000, 'a')}, {"X-Own", "1"}},
                .body = "made"});
    });
    RawClient one(server_->port());
    for (int i = 0; i < 2; ++i) {
        const auto response = one.ask("GET", "/");
        ASSERT_TRUE(response);
        EXPECT_EQ(response->status, 201);
        EXPECT_EQ(response->headers.at("x-own"), "1");
        EXPECT_FALSE(response->headers.contains("x-long"));
    }
}

TEST_F(ServerTest, ARequestThatTakesTooLongIsA408HoweverItTrickles) {
    options_.limits.request_time = 300ms;
    start();
    RawClient head(server_->port()), body(server_->port());
    head.send("GET / HTTP/1.1\r\nHo");
    body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\na");
    EXPECT_EQ(type(head.receive()), "408 request-timeout");
    EXPECT_EQ(type(body.receive()), "408 request-timeout");
    // A byte now and then does not hold the connection.
    RawClient trickle(server_->port());
    trickle.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
    int sent = 0;
    while (!trickle.readable(50) && sent < 200) {
        trickle.send("a");
        ++sent;
    }
    EXPECT_LT(sent, 200);
    EXPECT_EQ(type(trickle.receive()), "408 request-timeout");
}

// Its bytes are always there, so that there is no wait that could be cancelled.
TEST_F(ServerTest, ARequestThatTakesTooLongIsA408HoweverFastItIsSent) {
    options_.limits.request_time = 100ms;
    options_.limits.body_bytes = 2'000'000'000;
    start();
    RawClient client(server_->port());
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1999999999\r\n\r\n");
    const std::string block(100'000, 'a');
    const auto end = std::chrono::steady_clock::now() + 500ms;
    while (!client.readable(0) && std::chrono::steady_clock::now() < end) client.send(block);
    EXPECT_EQ(type(client.receive()), "408 request-timeout");
}

TEST_F(ServerTest, AnIdleConnectionIsClosedWithoutAWord) {
    options_.limits.idle_time = 200ms;
    start();
    RawClient fresh(server_->port()), used(server_->port());
    // Its time begins again, though it was idle before as well.
    EXPECT_FALSE(used.readable(100));
    EXPECT_EQ(used.ask("GET", "/")->status, 200);
    for (RawClient* idle : {&fresh, &used}) {
        EXPECT_TRUE(idle->readable(10'000)) << "it is open";
        EXPECT_FALSE(idle->receive());
    }
}

TEST_F(ServerTest, ABodyThatComesInPiecesIsWhole) {
    start();
    const std::vector<std::string> whole{"Content-Length: 6\r\n\r\nab", "cd", "ef"};
    const std::vector<std::string> chunks{"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n4",
                                          "\r\ncdef\r\n", "0\r\n\r\n"};
    for (const auto& pieces : {whole, chunks}) {
        RawClient client(server_->port());
        client.send("POST / HTTP/1.1\r\nHost: a\r\n");
        for (const std::string& piece : pieces) {
            EXPECT_FALSE(client.readable(100));
            client.send(piece);
        }
        const auto response = client.receive();
        ASSERT_TRUE(response);
        EXPECT_THAT(response->body, testing::EndsWith("\nabcdef"));
    }
}

TEST_F(ServerTest, TheHandlersTimeIsNotTheRequests) {
    options_.limits.request_time = options_.limits.idle_time = 200ms;
    start(held_.handler());
    RawClient waits(server_->port()), idle(server_->port());
    waits.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_FALSE(idle.receive());  // so that the time is over
    EXPECT_FALSE(waits.readable(200));
    release_all();
    EXPECT_EQ(waits.receive()->body, "late");
}

TEST_F(ServerTest, BeyondTheConnectionsThatThereMayBeOneWaits) {
    options_.limits.connections = 2;
    start(held_.handler());
    RawClient one(server_->port()), two(server_->port());
    one.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    two.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(eventually(10s, [&] { return held_.count() == 2; }));
    RawClient three(server_->port());
    three.send("GET /three HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_FALSE(three.readable(300));
    release_all();
    EXPECT_EQ(one.receive()->status, 200);
    ASSERT_TRUE(eventually(10s, [&] { return held_.count() == 1; }));
    release_all();
    EXPECT_EQ(three.receive()->status, 200);
}

TEST_F(ServerTest, WhoAsksFirstWhetherToSendItsBodyIsTold) {
    start();
    RawClient polite(server_->port());
    polite.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(polite.receive()->status, 100);
    polite.send("body");
    EXPECT_TRUE(polite.receive()->body.ends_with("body"));
    polite.send(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4000\r\n"
        "Expect: 100-continue\r\n\r\n");
    EXPECT_EQ(type(polite.receive()), "413 body-too-large");
}

TEST_F(ServerTest, AnswersWithoutABodyHaveNone) {
    start([](HttpRequest request, HttpServer::Answer answer) {
        answer({.status = request.target == "/204" ? 204 : 202, .headers = {}, .body = "x"});
    });
    RawClient one(server_->port());
    const auto no_content = one.ask("GET", "/204");
    EXPECT_EQ(no_content->status, 204);
    EXPECT_FALSE(no_content->headers.contains("content-length"));
    const auto head = one.ask("HEAD", "/");
    EXPECT_EQ(head->headers.at("content-length"), "1");
    EXPECT_EQ(one.ask("GET", "/")->body, "x");
}

TEST_F(ServerTest, NoAnswerBreaksTheHead) {
    start([](HttpRequest, HttpServer::Answer answer) {
        answer({.status = 7000, .headers = {{"X-Split", "a\r\nSet-Cookie: b"}}, .body = ""});
    });
    const auto response = client().ask("GET", "/");
    EXPECT_EQ(response->status, 500);
    EXPECT_FALSE(response->headers.contains("set-cookie"));
}

TEST_F(ServerTest, AStopAnswersWhatIsUnderWayAndTakesNothingNew) {
    start(held_.handler());
    RawClient idle(server_->port()), busy(server_->port());
    busy.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(eventually(10s, [&] { return held_.count() == 1; }));
    std::future<void> stopped = std::async(std::launch::async, [&] { server_->stop(10s); });
    EXPECT_FALSE(idle.receive());
    EXPECT_TRUE(eventually(10s, [&] { return !accepts_connections(server_->port()); }));
    EXPECT_EQ(stopped.wait_for(0s), std::future_status::timeout);
    release_all();
    const auto response = busy.receive();
    EXPECT_EQ(response->body, "late");
    EXPECT_EQ(response->headers.at("connection"), "close");
    EXPECT_FALSE(busy.receive());
}

TEST_F(ServerTest, AStopWaitsNoLongerThanItIsTold) {
    start(held_.handler());
    RawClient busy(server_->port());
    busy.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(eventually(10s, [&] { return held_.count() == 1; }));
    server_->stop(100ms);
    release_all();  // goes nowhere
}

TEST_F(ServerTest, APortThatIsTakenIsAnError) {
    start();
    options_.port = server_->port();
    EXPECT_THROW(HttpServer(options_, {}), ServerError);
}

TEST_F(ServerTest, WithACertificateItSpeaksTlsAlone) {
    const auto folder = std::filesystem::temp_directory_path() / unique_name("onceward_tls");
    std::filesystem::create_directories(folder);
    write_certificates(folder, false);
    options_.certificate_file = options_.key_file = (folder / "server.pem").string();
    start();
    std::filesystem::remove_all(folder);
    RawClient tls(server_->port(), RawClient::Over::tls);
    EXPECT_THAT(tls.ask("POST", "/a", "", "body")->body, HasSubstr("POST /a"));
    EXPECT_EQ(type(tls.ask("POST", "/", "", std::string(1001, 'a'))), "413 body-too-large");
    EXPECT_FALSE(tls.receive());
    RawClient plain(server_->port());
    plain.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_FALSE(plain.receive());
    EXPECT_THROW(
        [&] {
            options_.certificate_file = "not_there.pem";
            HttpServer(options_, {});
        }(),
        ServerError);
}

}  // namespace
}  // namespace onceward::support
