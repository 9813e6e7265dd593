#include "tests/support/notify_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "tests/support/unique.h"

namespace onceward::support {
namespace {

using Clock = std::chrono::steady_clock;

void check(bool good, const char* what) {
    if (!good) throw std::system_error(errno, std::generic_category(), what);
}

sockaddr_un address_of(const std::filesystem::path& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    return address;
}

}  // namespace

NotifySocket::NotifySocket()
    : path_(std::filesystem::temp_directory_path() / unique_name("notify")),
      socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    check(socket_ >= 0, "socket");
    const sockaddr_un address = address_of(path_);
    check(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0, "bind");
}

NotifySocket::~NotifySocket() {
    close(socket_);
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
}

std::string NotifySocket::receive(std::chrono::milliseconds limit) const {
    pollfd ready{.fd = socket_, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, static_cast<int>(limit.count())) <= 0) return "";
    std::array<char, 4096> bytes{};
    const ssize_t size = recv(socket_, bytes.data(), bytes.size(), 0);
    check(size >= 0, "recv");
    std::string text(bytes.data(), static_cast<std::size_t>(size));
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

bool NotifySocket::receives(const std::string& text, std::chrono::milliseconds limit) const {
    const auto end = Clock::now() + limit;
    for (auto now = Clock::now(); now < end; now = Clock::now()) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - now);
        if (receive(left).find(text) != std::string::npos) return true;
    }
    return false;
}

int NotifySocket::fill() const {
    const int sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    check(sender >= 0, "socket");
    const sockaddr_un address = address_of(path_);
    int count = 0;
    while (sendto(sender, "FILL=1", 6, 0, reinterpret_cast<const sockaddr*>(&address),
                  sizeof address) == 6) {
        ++count;
    }
    close(sender);
    return count;
}

}  // namespace onceward::support
