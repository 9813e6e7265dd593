#pragma once
// A socket that closes itself, and the few calls of those that talk over 127.0.0.1. A socket is
// moved, not copied, and used by one thread at a time; a port that cannot be listened on is a
// std::system_error.

#include <netinet/in.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace onceward {

class Socket {
  public:
    explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
    ~Socket() { close(); }
    Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    Socket& operator=(Socket&& other) noexcept {
        close();
        descriptor_ = std::exchange(other.descriptor_, -1);
        return *this;
    }
    int get() const { return descriptor_; }
    bool open() const { return descriptor_ >= 0; }
    void close() {
        if (descriptor_ >= 0) ::close(descriptor_);
        descriptor_ = -1;
    }

  private:
    int descriptor_;
};

inline sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

// It does not block, and waits for no further bytes to fill a packet, which would add a delay.
void prepare(const Socket& socket);
// Prepared; not open if nobody listens there.
Socket connect_to(std::uint16_t port);
// At a free port. Accepting does not block.
Socket listen_anywhere(std::uint16_t& port);

}  // namespace onceward
