#include "tests/integration/gateway/raw_client.h"

#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <stdexcept>

#include "lab/embedded/socket.h"

namespace onceward::support {
namespace {

constexpr int longest_read = 30'000;

int connected(std::uint16_t port) {
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(port);
    if (connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
        return made;
    }
    close(made);
    return -1;
}

SSL_CTX* tls_context() {
    // Whose certificate it is is not what these tests look at.
    static const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(
        SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
    return context.get();
}

}  // namespace

RawClient::RawClient(std::uint16_t port, Over over) : socket_(connected(port)) {
    if (socket_ < 0) throw std::runtime_error("nobody listens at port " + std::to_string(port));
    if (over == Over::plain) return;
    tls_ = SSL_new(tls_context());
    SSL_set_fd(tls_, socket_);
    if (SSL_connect(tls_) != 1) throw std::runtime_error("no TLS handshake");
}

RawClient::~RawClient() {
    if (tls_ != nullptr) SSL_free(tls_);
    close(socket_);
}

void RawClient::send(const std::string& bytes) {
    const auto size = static_cast<ssize_t>(bytes.size());
    const ssize_t sent = tls_ != nullptr
                             ? SSL_write(tls_, bytes.data(), static_cast<int>(size))
                             : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent != size) throw std::runtime_error("the connection takes nothing more");
}

bool RawClient::readable(int milliseconds) const {
    if (tls_ != nullptr && SSL_pending(tls_) > 0) return true;
    pollfd look{.fd = socket_, .events = POLLIN, .revents = 0};
    return poll(&look, 1, milliseconds) == 1;
}

std::string RawClient::read_some() {
    if (!readable(longest_read)) throw std::runtime_error("nothing came for thirty seconds");
    std::array<char, 16 * 1024> bytes;
    const ssize_t count = tls_ != nullptr
                              ? SSL_read(tls_, bytes.data(), static_cast<int>(bytes.size()))
                              : recv(socket_, bytes.data(), bytes.size(), 0);
    return count > 0 ? std::string(bytes.data(), static_cast<std::size_t>(count)) : std::string();
}

std::optional<RawResponse> RawClient::receive(bool head) {
    while (buffer_.find("\r\n\r\n") == std::string::npos) {
        const std::string more = read_some();
        if (more.empty()) return std::nullopt;
        buffer_ += more;
    }
    RawResponse response;
    std::size_t at = buffer_.find("\r\n");
    response.status = std::stoi(buffer_.substr(9, 3));
    for (at += 2; buffer_.compare(at, 2, "\r\n") != 0;) {
        const std::size_t end = buffer_.find("\r\n", at);
        const std::size_t colon = buffer_.find(": ", at);
        std::string name = buffer_.substr(at, colon - at);
        for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        response.headers[name] = buffer_.substr(colon + 2, end - colon - 2);
        at = end + 2;
    }
    buffer_.erase(0, at + 2);
    const auto length = response.headers.find("content-length");
    if (head || length == response.headers.end()) return response;
    const std::size_t size = std::stoul(length->second);
    while (buffer_.size() < size) {
        const std::string more = read_some();
        if (more.empty()) return std::nullopt;
        buffer_ += more;
    }
    response.body = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return response;
}

std::optional<RawResponse> RawClient::ask(const std::string& method, const std::string& target,
                                          const std::string& headers, const std::string& body) {
    send(method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" + headers +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return receive(method == "HEAD");
}

bool accepts_connections(std::uint16_t port) {
    const int made = connected(port);
    if (made < 0) return false;
    close(made);
    return true;
}

}  // namespace onceward::support
