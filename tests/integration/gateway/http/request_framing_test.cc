// Where a request begins and ends, with raw bytes: no peer may see another number of requests than
// the server does. Some tests have the server alone, some a front door with a table.

#include <gmock/gmock.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "gateway/http/server.h"
#include "tests/integration/gateway/route_scene.h"

namespace onceward::support {
namespace {

using testing::HasSubstr;
using testing::Not;

class FramingTest : public ::testing::Test {
  protected:
    FramingTest() {
        ServerOptions options;
        options.port = 0;
        options.limits.body_bytes = 1000;
        server_ =
            std::make_unique<HttpServer>(options, [this](HttpRequest request, auto answer) {
                ++requests_;
                std::string text = request.method + " " + request.target + "\n";
                for (const auto& [name, value] : request.headers) text += name + "=" + value + "\n";
                answer({.status = 200, .headers = {}, .body = text + request.body});
            });
        server_->start();
    }
    static std::string name_of(const RawResponse& response) {
        const std::string type = nlohmann::json::parse(response.body).at("type");
        return std::to_string(response.status) + " " + type.substr(type.find_last_of(":/") + 1);
    }
    // The answers to these bytes, until the server closes the connection or `most` have come.
    std::vector<RawResponse> answers_to(const std::string& bytes, std::size_t most = 3) const {
        RawClient client(server_->port());
        client.send(bytes);
        std::vector<RawResponse> answers;
        while (answers.size() < most) {
            const auto answer = client.receive();
            if (!answer) break;
            answers.push_back(*answer);
        }
        return answers;
    }
    // One answer, then the end of the connection, and nothing was handed on as a request.
    void expect_refused(const std::string& bytes, const std::string& problem) {
        requests_ = 0;
        const std::vector<RawResponse> answers = answers_to(bytes);
        ASSERT_EQ(answers.size(), 1U) << bytes;
        EXPECT_EQ(answers[0].headers.at("connection"), "close") << bytes;
        EXPECT_EQ(answers[0].status < 400 ? std::to_string(answers[0].status) : name_of(answers[0]),
                  problem)
            << bytes;
        EXPECT_EQ(requests_, 0) << bytes;
    }

    std::atomic<int> requests_{0};
    std::unique_ptr<HttpServer> server_;
};

struct Coding {
    const char* lines;
    const char* problem;
};
// What a Transfer-Encoding may look like that is not the one word `chunked`.
const Coding codings[] = {
    {"Transfer-Encoding: xchunked\r\n", "400 malformed-request"},
    {"Transfer-Encoding: \"chunked\"\r\n", "400 malformed-request"},
    {"Transfer-Encoding: identity\r\n", "400 malformed-request"},
    {"Transfer-Encoding:\r\n", "400 malformed-request"},
    {"Transfer-Encoding: gzip\r\n", "400 malformed-request"},
    {"Transfer-Encoding: chunked, gzip\r\n", "400 malformed-request"},
    {"Transfer-Encoding: chunked, chunked\r\n", "400 malformed-request"},
    {"Transfer-Encoding: chunked, identity\r\n", "400 malformed-request"},
    {"Transfer-Encoding: chunked;q=1\r\n", "400 malformed-request"},
    {"Transfer-Encoding: ,chunked\r\n", "400 malformed-request"},
    {"Transfer-Encoding: chunked,\r\n", "400 malformed-request"},
    {"Transfer-Encoding: chun ked\r\n", "400 malformed-request"},
    {"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "400 malformed-request"},
    {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "400 malformed-request"},
};

constexpr const char* start = "POST /front HTTP/1.1\r\nHost: x\r\n";
constexpr const char* hidden = "POST /hidden HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";

TEST_F(FramingTest, ATransferEncodingThatIsNotChunkedEndsTheConnection) {
    const std::string head = start, length = "Content-Length: 4\r\n";
    for (const Coding& coding : codings) {
        const std::string lines = coding.lines;
        const std::string behind = "\r\n56\r\n" + std::string(hidden) + "0\r\n\r\n";
        expect_refused(head + lines + length + behind, coding.problem);
        expect_refused(head + length + lines + behind, coding.problem);
        expect_refused(head + lines + "\r\n" + hidden, coding.problem);
    }
}

TEST_F(FramingTest, ACodingBeforeChunkedThatNobodyKnowsIsA501) {
    const std::string head = start, chunks = "\r\n0\r\n\r\n" + std::string(hidden);
    for (const char* lines : {"Transfer-Encoding: gzip, chunked\r\n",
                              "Transfer-Encoding: identity, CHUNKED\r\n",
                              "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"}) {
        expect_refused(head + lines + chunks, "501 coding-unknown");
    }
}

TEST_F(FramingTest, TwoWordsAboutABodysLengthEndTheConnection) {
    const std::string head = start;
    const std::string body = "\r\n0\r\n\r\n" + std::string(hidden);
    for (const char* lines :
         {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
          "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
          "Transfer-Encoding: Chunked\r\nContent-Length: 5\r\n",
          "Content-Length: 5\r\nContent-Length: 0\r\n",
          "Content-Length: 5\r\nContent-Length: 5\r\n",
          "Content-Length: 5, 5\r\n", "Content-Length: 5, 0\r\n", "Content-Length: +5\r\n",
          "Content-Length: -5\r\n", "Content-Length: 0x5\r\n", "Content-Length:\r\n",
          "Content-Length: 5 0\r\n", "Content-Length: 18446744073709551621\r\n",
          "Content-Length: 99999999999999999999999\r\n"}) {
        expect_refused(head + lines + body, "400 malformed-request");
    }
    expect_refused("POST /front HTTP/1.0\r\nTransfer-Encoding: chunked\r\n" + body,
                   "400 malformed-request");
}

TEST_F(FramingTest, AHeadThatReadersTakeApartInTwoWaysEndsTheConnection) {
    const std::string rest = "\r\n" + std::string(hidden);
    for (const std::string& head : {
             // A line that continues, in the head and before its first field.
             "POST /a HTTP/1.1\r\nHost: x\r\nX-A: 1\r\n Transfer-Encoding: chunked\r\n" + rest,
             "POST /a HTTP/1.1\r\n Host: x\r\n" + rest,
             "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n\tchunked\r\n" + rest,
             // Blanks before the colon, no name, and a name that is none.
             "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n" + rest,
             "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length\t: 5\r\n" + rest,
             "POST /a HTTP/1.1\r\nHost: x\r\n: 5\r\n" + rest,
             "POST /a HTTP/1.1\r\nHost: x\r\nX(A): 5\r\n" + rest,
             // A CR or an LF alone, and a NUL.
             "POST /a HTTP/1.1\r\nHost: x\nX-A: 1\r\n" + rest,
             "POST /a HTTP/1.1\nHost: x\r\n" + rest, "POST /a HTTP/1.1\r\nHost: x\n\n" + rest,
             "POST /a HTTP/1.1\r\nHost: x\r\nX-A: 1\rTransfer-Encoding: chunked\r\n" + rest,
             "POST /a HTTP/1.1\r\nHost: x\r\nX-A: 1\r\r\n" + rest,
             "POST /a HTTP/1.1\r\nHost: x\r\nX-A: " + std::string(1, '\0') + "\r\n" + rest,
             "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \x0b" "chunked\r\n" + rest,
             // A request line with more blanks than two.
             "POST  /a HTTP/1.1\r\nHost: x\r\n" + rest, "POST /a\tHTTP/1.1\r\nHost: x\r\n" + rest,
             "POST /a b HTTP/1.1\r\nHost: x\r\n" + rest,
             "POST /a HTTP/1.1 \r\nHost: x\r\n" + rest, " POST /a HTTP/1.1\r\nHost: x\r\n" + rest,
         }) {
        expect_refused(head, "400 malformed-request");
    }
}

TEST_F(FramingTest, ChunksThatReadersTakeApartInTwoWaysEndTheConnection) {
    const std::string head = std::string(start) + "Transfer-Encoding: chunked\r\n\r\n";
    const std::string end = "0\r\n\r\n" + std::string(hidden);
    for (const std::string& chunks : std::vector<std::string>{
             // Sizes that are none, or that overflow.
             "-1\r\na\r\n" + end, "+1\r\na\r\n" + end, "0x1\r\na\r\n" + end, "\r\na\r\n" + end,
             "g\r\na\r\n" + end, "10000000000000001\r\na\r\n" + end,
             "fffffffffffffffff1\r\na\r\n" + end,
             // Wrong line ends: in the line of the size, in an extension, after the data.
             "1\na\r\n" + end, "1\ra\r\n" + end, "1;a\nb\r\na\r\n" + end,
             "1;a=\"\n\"\r\na\r\n" + end, "1;\na\r\n" + end, "1\r\na\n" + end,
             "1\r\nab\r\n" + end, "1\r\naXX" + end,
             // In the trailer.
             "0\r\nX-A: 1\nX-B: 2\r\n\r\n" + std::string(hidden),
             "0\r\nX-A : 1\r\n\r\n" + std::string(hidden),
             "0\r\nContent-Length: 5\r\n\r\n" + std::string(hidden),
             "0\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(hidden)}) {
        expect_refused(head + chunks, "400 malformed-request");
    }
    expect_refused(head + "ffffffffffffffff\r\na\r\n" + end, "413 body-too-large");
}

TEST_F(FramingTest, WhatIsRightGoesThrough) {
    const std::string chunks = "4;name=value;b=\"x\"\r\nbody\r\n0\r\n\r\n";
    for (const char* lines : {"Transfer-Encoding: chunked\r\n", "transfer-encoding:CHUNKED \r\n"}) {
        requests_ = 0;
        const auto answers = answers_to(start + std::string(lines) + "\r\n" + chunks + hidden, 2);
        ASSERT_EQ(answers.size(), 2U);
        EXPECT_TRUE(answers[0].body.ends_with("body"));
        EXPECT_THAT(answers[1].body, HasSubstr("POST /hidden\n"));
    }
}

// Beast's parser ended the process for it.
TEST_F(FramingTest, TheLastChunkMayComeInPieces) {
    RawClient client(server_->port());
    client.send(start + std::string("Transfer-Encoding: chunked\r\n\r\n0\r\n"));
    for (const char* piece : {"\r", "\n"}) {
        EXPECT_FALSE(client.readable(100)) << "the body has not ended";
        client.send(piece);
    }
    EXPECT_EQ(client.receive()->status, 200);
    EXPECT_EQ(client.ask("GET", "/next")->status, 200);
}

TEST_F(FramingTest, AChunkedRequestIsTheSameWhereverItIsCut) {
    const std::string head = std::string(start) + "Transfer-Encoding: chunked\r\n\r\n";
    const std::string parts = "POST /front\nHost=x\nTransfer-Encoding=chunked\n";
    RawClient client(server_->port());
    const auto cut_from = [&](std::size_t first, const std::string& bytes,
                              const std::string& expected) {
        for (std::size_t cut = first; cut < bytes.size(); ++cut) {
            client.send(bytes.substr(0, cut));
            ASSERT_FALSE(client.readable(10)) << cut << " of " << bytes;
            client.send(bytes.substr(cut));
            const auto answer = client.receive();
            ASSERT_TRUE(answer) << cut << " of " << bytes;
            EXPECT_EQ(answer->status, 200) << cut << " of " << bytes;
            EXPECT_EQ(answer->body, expected) << cut << " of " << bytes;
        }
    };
    cut_from(1, head + "4\r\nbody\r\n0\r\nX-Sum: 1\r\n\r\n", parts + "body");
    // Without data the last chunk is the first one.
    cut_from(head.size(), head + "0\r\nX-Sum: 1\r\n\r\n", parts);
    cut_from(head.size(), head + "0\r\n\r\n", parts);
    cut_from(head.size(), head + "00;a=b\r\n\r\n", parts);
}

TEST_F(FramingTest, AHostIsThereOnceAndIsAHost) {
    const std::string line = "GET /a HTTP/1.1\r\n";
    for (const char* hosts : {"", "Host: a\r\nHost: a\r\n", "Host: a\r\nhost: b\r\n",
                              "Host: lab/@evil\r\n", "Host: a b\r\n", "Host: a,b\r\n",
                              "Host: user@a\r\n", "Host: a:b\r\n", "Host: a:80:90\r\n",
                              "Host: [::1\r\n", "Host: a?b\r\n", "Host: a#b\r\n", "Host: a%zz\r\n",
                              "Host: a\\b\r\n"}) {
        expect_refused(line + hosts + "\r\n", "400 malformed-request");
    }
    for (const char* hosts : {"Host: shop.example\r\n", "Host: shop.example:8080\r\n",
                              "Host: [::1]:8080\r\n", "Host: a_b%2d\r\n", "Host:\r\n"}) {
        EXPECT_EQ(answers_to(line + hosts + "\r\n", 1).at(0).status, 200) << hosts;
    }
    EXPECT_EQ(answers_to("GET /a HTTP/1.0\r\n\r\n").at(0).status, 200);
}

// RFC 9112, 3.2.2: the address in the request line replaces the Host field.
TEST_F(FramingTest, AWholeAddressInTheRequestLineIsTaken) {
    const auto ask = [&](const std::string& target) {
        return answers_to("GET " + target + " HTTP/1.1\r\nHost: other\r\n\r\n", 1).at(0);
    };
    EXPECT_EQ(ask("http://shop.example/table?a=b").body, "GET /table?a=b\nHost=shop.example\n");
    EXPECT_EQ(ask("HTTPS://shop.example:8443/table").body, "GET /table\nHost=shop.example:8443\n");
    EXPECT_EQ(ask("http://shop.example").body, "GET /\nHost=shop.example\n");
    EXPECT_EQ(ask("http://shop.example?a=b").body, "GET /?a=b\nHost=shop.example\n");
    for (const char* target :
         {"http://", "http:///table", "http://user@shop.example/table", "ftp://shop.example/a",
          "table", "http://%zz.example/", "*"}) {
        expect_refused("GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n",
                       "400 malformed-request");
    }
    EXPECT_EQ(answers_to("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 1).at(0).status, 200);
}

TEST_F(FramingTest, AnExpectationOfHttp10IsPassedOver) {
    RawClient client(server_->port());
    client.send("POST /a HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
    EXPECT_FALSE(client.readable(200)) << "it was told to continue";
    client.send("body");
    const auto answer = client.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_TRUE(answer->body.ends_with("body"));
}

TEST_F(FramingTest, EmptyLinesBeforeARequestArePassedOver) {
    const std::string request = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody";
    EXPECT_EQ(answers_to("\r\n" + request, 1).at(0).status, 200);
    EXPECT_EQ(answers_to(request + "\r\n" + request, 2).at(1).status, 200);
    RawClient slow(server_->port());
    for (const char c : "\r\n" + request) slow.send(std::string(1, c));
    EXPECT_EQ(slow.receive()->status, 200);
}

TEST_F(FramingTest, AnotherVersionOfHttpIsA505) {
    for (const char* version : {"HTTP/1.2", "HTTP/2.0", "HTTP/9.9", "HTTP/0.9"}) {
        expect_refused("GET / " + std::string(version) + "\r\nHost: a\r\n\r\n",
                       "505 version-unknown");
    }
    expect_refused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 version-unknown");
    for (const char* version : {"HTTP/1", "HTTP/1.10", "http/1.1", "HTTP/a.b", "HTTP1.1", ""}) {
        expect_refused("GET / " + std::string(version) + "\r\nHost: a\r\n\r\n",
                       "400 malformed-request");
    }
}

class HiddenRequest : public operator_tests::RouteScene {};

// The finding as it was found: a request within a request's body that takes effect.
TEST_F(HiddenRequest, HasNoEffect) {
    const std::string head = "POST /orders/front HTTP/1.1\r\nHost: x\r\nX-Tenant: a\r\n"
                             "Idempotency-Key: front\r\n";
    const std::string inner = "POST /orders/hidden HTTP/1.1\r\nHost: x\r\nX-Tenant: b\r\n"
                              "Idempotency-Key: hidden\r\nContent-Length: 2\r\n\r\n{}";
    const std::string length = "Content-Length: 4\r\n";
    for (const Coding& coding : codings) {
        const std::string lines = coding.lines, behind = "\r\n56\r\n" + inner + "\r\n0\r\n\r\n";
        for (const std::string& bytes : {head + lines + length + behind,
                                         head + length + lines + behind,
                                         head + lines + "\r\n" + inner}) {
            RawClient client(gateway_->port());
            client.send(bytes);
            const auto answer = client.receive();
            ASSERT_TRUE(answer);
            EXPECT_EQ(answer->status, 400) << bytes;
            EXPECT_FALSE(client.receive()) << bytes;
        }
    }
    EXPECT_EQ(rows(), 0);
}

}  // namespace
}  // namespace onceward::support
