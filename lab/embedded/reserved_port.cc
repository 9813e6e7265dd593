#include "lab/embedded/reserved_port.h"

#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <stdexcept>
#include <utility>

#include "lab/embedded/socket.h"

namespace onceward {

ReservedPort::ReservedPort() {
    std::random_device random;
    std::uniform_int_distribution<int> ports(15'000, 32'000);
    for (int attempt = 0; attempt < 200; ++attempt) {
        number_ = static_cast<std::uint16_t>(ports(random));
        holder_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (holder_ < 0) break;
        const sockaddr_in address = loopback(number_);
        if (bind(holder_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
            // Only now: asked for before bind(), it would share the port with another holder.
            const int yes = 1;
            setsockopt(holder_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
            return;
        }
        close(holder_);
    }
    throw std::runtime_error("no free TCP port found on 127.0.0.1");
}

ReservedPort::~ReservedPort() {
    if (holder_ >= 0) close(holder_);
}

ReservedPort::ReservedPort(ReservedPort&& other) noexcept
    : number_(other.number_), holder_(std::exchange(other.holder_, -1)) {}

}  // namespace onceward
