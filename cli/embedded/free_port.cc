#include "cli/embedded/free_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <stdexcept>

namespace onceward {

std::uint16_t free_port() {
    std::random_device random;
    std::uniform_int_distribution<int> ports(15'000, 32'000);
    for (int attempt = 0; attempt < 200; ++attempt) {
        const auto port = static_cast<std::uint16_t>(ports(random));
        const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (listener < 0) break;
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int bound = bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address);
        close(listener);
        if (bound == 0) return port;
    }
    throw std::runtime_error("no free TCP port found on 127.0.0.1");
}

}  // namespace onceward
