#include "cli/process/manager_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace onceward {

ManagerSocket::ManagerSocket(std::string address) : address_(std::move(address)) {}

ManagerSocket::~ManagerSocket() { close_socket(); }

bool ManagerSocket::connected() {
    if (socket_ >= 0) return true;
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    if (address_.empty() || address_.size() >= sizeof name.sun_path) return false;
    address_.copy(name.sun_path, address_.size());
    std::size_t length = offsetof(sockaddr_un, sun_path) + address_.size();
    if (address_.front() == '@') {
        name.sun_path[0] = '\0';
    } else {
        ++length;  // a path ends with its zero byte
    }
    socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket_ < 0) return false;
    if (connect(socket_, reinterpret_cast<const sockaddr*>(&name),
                static_cast<socklen_t>(length)) == 0) {
        return true;
    }
    close_socket();
    return false;
}

void ManagerSocket::close_socket() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
}

bool ManagerSocket::send(const std::string& lines) {
    if (!connected()) return false;
    if (::send(socket_, lines.data(), lines.size(), MSG_NOSIGNAL) >= 0) return true;
    // After a manager was replaced, another socket has the same name.
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ENOBUFS) {
        close_socket();
    }
    return false;
}

void ManagerSocket::wait(std::chrono::milliseconds limit) const {
    // Without a socket this is only a pause.
    pollfd wanted{.fd = socket_, .events = POLLOUT, .revents = 0};
    static_cast<void>(poll(&wanted, 1, static_cast<int>(limit.count())));
}

}  // namespace onceward
