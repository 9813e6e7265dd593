#include "tests/unit/cli/configuration/silent_server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

#include "lab/embedded/socket.h"

namespace onceward::test {

SilentServer::SilentServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)) {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    if (socket_ < 0 || ::bind(socket_, raw, size) != 0 || ::listen(socket_, 16) != 0 ||
        ::getsockname(socket_, raw, &size) != 0) {
        throw std::runtime_error("cannot listen");
    }
    port_ = ntohs(address.sin_port);
}

SilentServer::~SilentServer() { ::close(socket_); }

bool SilentServer::was_visited() {
    const int visitor = ::accept(socket_, nullptr, nullptr);
    if (visitor < 0) return false;
    ::close(visitor);
    return true;
}

void visit(const SilentServer& server) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = loopback(static_cast<std::uint16_t>(std::stoi(server.port())));
    const int result =
        ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::close(socket);
    if (result != 0) throw std::runtime_error("cannot connect");
}

}  // namespace onceward::test
