// A client over libcurl, and a server that says byte for byte what it is told to say.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <stdexcept>
#include <string>
#include <thread>

#include "clients/cpp/client.h"
#include "lab/embedded/socket.h"

namespace onceward::support {
namespace {

const std::string body = "{}";

// Reads one request of each connection, sends the same bytes to it, and ends it.
class RawServer {
  public:
    explicit RawServer(std::string answer)
        : answer_(std::move(answer)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address = loopback(0);
        socklen_t size = sizeof address;
        auto* generic = reinterpret_cast<sockaddr*>(&address);
        if (::bind(listener_.get(), generic, size) != 0 || ::listen(listener_.get(), 8) != 0 ||
            ::getsockname(listener_.get(), generic, &size) != 0) {
            throw std::runtime_error("the raw server cannot listen on 127.0.0.1");
        }
        url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
        thread_ = std::jthread([this] { serve(); });
    }
    // Ends the wait for the next connection.
    ~RawServer() { ::shutdown(listener_.get(), SHUT_RDWR); }
    RawServer(const RawServer&) = delete;
    RawServer& operator=(const RawServer&) = delete;

    const std::string& url() const { return url_; }

  private:
    void serve() const {
        while (true) {
            const Socket peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!peer.open()) return;
            // What is left unread would be a reset in the place of the end.
            std::string request;
            std::array<char, 4096> bytes;
            while (!request.ends_with("\r\n\r\n" + body)) {
                const ssize_t count = ::recv(peer.get(), bytes.data(), bytes.size(), 0);
                if (count <= 0) break;
                request.append(bytes.data(), static_cast<std::size_t>(count));
            }
            ::send(peer.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL);
        }
    }

    std::string answer_;
    Socket listener_;
    std::string url_;
    std::jthread thread_;
};

client::Answer ask(const std::string& answer) {
    const RawServer server(answer);
    const client::Options once{.retries = {.attempts = 1}};
    return client::Client(server.url(), once).send({.target = "/orders/7", .body = body});
}

const std::string early = "HTTP/1.1 103 Early Hints\r\nIdempotent-Replayed: true\r\n\r\n";
const std::string chunks =
    "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\nX-Order: 7\r\n\r\n"
    "2\r\n{}\r\n0\r\n";
const std::string fields = "Retry-After: 3600\r\nIdempotent-Replayed: true\r\n";

TEST(CurlTransport, TakesAnAnswerWithFieldsBehindItsBodyForWholeAndThemForNoHeaders) {
    for (const std::string& before : {std::string(), early}) {
        const client::Answer answer = ask(before + chunks + fields + "\r\n");
        EXPECT_EQ(answer.status, 201);
        EXPECT_EQ(answer.body, "{}");
        EXPECT_EQ(client::header_of(answer.headers, "X-Order"), "7");
        EXPECT_EQ(client::header_of(answer.headers, "Retry-After"), "");
        EXPECT_FALSE(answer.replayed);
    }
}

TEST(CurlTransport, TakesWhatBreaksOffForNoAnswer) {
    const std::string head = "HTTP/1.1 201 Created\r\nX-Order: 7\r\n";
    for (const std::string& part : {head, early, early + head, chunks, chunks + fields}) {
        EXPECT_THROW(ask(part), client::ConnectionFailed) << part;
    }
}

}  // namespace
}  // namespace onceward::support
