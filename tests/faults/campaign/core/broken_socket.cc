#include "tests/faults/campaign/core/broken_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace onceward::campaign::core {

void close_socket(int socket) { ::shutdown(socket, SHUT_RDWR); }

int leave_socket_open(int socket) {
    const int kept = ::fcntl(socket, F_DUPFD_CLOEXEC, 0);
    std::array<int, 2> dead{-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, dead.data()) != 0) return kept;
    ::close(dead[1]);
    ::dup2(dead[0], socket);
    ::close(dead[0]);
    return kept;
}

}  // namespace onceward::campaign::core
