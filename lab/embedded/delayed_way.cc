#include "lab/embedded/delayed_way.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace onceward {
namespace {

// Far more than any rate puts under way in milliseconds: only a reader that does not read reaches
// it, and then the sender waits as it does without a link.
constexpr std::size_t held_at_most = std::size_t{64} << 20;
// In between, the other ways have their turn.
constexpr int reads_at_once = 16;

bool later() { return errno == EAGAIN || errno == EINTR; }

}  // namespace

bool DelayedWay::wants_to_read() const { return !source_ended_ && held_ < held_at_most; }

std::optional<DelayedWay::Clock::time_point> DelayedWay::next_due() const {
    if (parcels_.empty()) return std::nullopt;
    return parcels_.front().due;
}

bool DelayedWay::move(Clock::time_point now, std::chrono::microseconds delay) {
    return read(delay) && write(now);
}

bool DelayedWay::read(std::chrono::microseconds delay) {
    thread_local std::array<char, 256 * 1024> buffer;
    for (int count = 0; count < reads_at_once && wants_to_read(); ++count) {
        const ssize_t size = recv(source_, buffer.data(), buffer.size(), 0);
        if (size < 0) return later();
        source_ended_ = size == 0;
        held_ += static_cast<std::size_t>(size);
        // By the time after the read: what was sent since an earlier one would be early.
        parcels_.push_back(
            {Clock::now() + delay, std::string(buffer.data(), static_cast<std::size_t>(size))});
    }
    return true;
}

bool DelayedWay::write(Clock::time_point now) {
    while (!parcels_.empty() && parcels_.front().due <= now) {
        const std::string& bytes = parcels_.front().bytes;
        if (bytes.empty()) {
            shutdown(target_, SHUT_WR);
            ended_ = true;
        }
        while (written_ < bytes.size()) {
            const ssize_t size =
                send(target_, bytes.data() + written_, bytes.size() - written_, MSG_NOSIGNAL);
            if (size < 0) return later();
            written_ += static_cast<std::size_t>(size);
        }
        held_ -= written_;
        written_ = 0;
        parcels_.pop_front();
    }
    return true;
}

}  // namespace onceward
