#include "lab/embedded/distant_link.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <list>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "lab/embedded/delayed_way.h"

namespace onceward {
namespace {

using Clock = std::chrono::steady_clock;

sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

Descriptor listen_anywhere(std::uint16_t& port) {
    Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (bind(listener.number(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        listen(listener.number(), SOMAXCONN) != 0 ||
        getsockname(listener.number(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
        throw std::system_error(errno, std::generic_category(), "listening on 127.0.0.1");
    port = ntohs(address.sin_port);
    return listener;
}

// Without Nagle's algorithm, which would add a delay of its own.
void prepare(const Descriptor& socket) {
    const int on = 1;
    setsockopt(socket.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(socket.number(), F_SETFL, fcntl(socket.number(), F_GETFL) | O_NONBLOCK);
}

// The two ends of a connection, and the two ways between them.
struct Connected {
    Connected(Descriptor nearer, Descriptor farther)
        : near(std::move(nearer)),
          far(std::move(farther)),
          there(near.number(), far.number()),
          back(far.number(), near.number()) {}

    Descriptor near;
    Descriptor far;
    DelayedWay there;
    DelayedWay back;
};

}  // namespace

class DistantLink::Engine {
  public:
    Engine(std::uint16_t target, std::chrono::microseconds delay)
        : target_(target),
          delay_(delay),
          listener_(listen_anywhere(port_)),
          stop_(eventfd(0, EFD_CLOEXEC)) {
        if (!stop_.open()) throw std::system_error(errno, std::generic_category(), "eventfd");
        thread_ = std::thread([this] { run(); });
    }
    ~Engine() {
        eventfd_write(stop_.number(), 1);
        thread_.join();
    }

    std::uint16_t port() const { return port_; }

  private:
    void run() {
        while (wait()) {
            if ((polled_[1].revents & POLLIN) != 0) accept_all();
            const Clock::time_point now = Clock::now();
            std::erase_if(connections_, [&](Connected& connected) {
                const bool alive =
                    connected.there.move(now, delay_) && connected.back.move(now, delay_);
                return !alive || (connected.there.ended() && connected.back.ended());
            });
        }
    }

    // Until there is something to do. False: this is the end.
    bool wait() {
        polled_ = {{stop_.number(), POLLIN, 0}, {listener_.number(), POLLIN, 0}};
        std::optional<Clock::time_point> due;
        const Clock::time_point now = Clock::now();
        for (const Connected& connected : connections_) {
            for (const DelayedWay* way : {&connected.there, &connected.back}) {
                if (way->wants_to_read()) polled_.push_back({way->source(), POLLIN, 0});
                const auto next = way->next_due();
                if (!next) continue;
                // What is due and still here found its socket full.
                if (*next <= now) {
                    polled_.push_back({way->target(), POLLOUT, 0});
                } else if (!due || *next < *due) {
                    due = next;
                }
            }
        }
        timespec limit{};
        if (due) {
            const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(*due - now);
            limit.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000);
            limit.tv_nsec = left.count() % 1'000'000'000;
        }
        ppoll(polled_.data(), polled_.size(), due ? &limit : nullptr, nullptr);
        return polled_[0].revents == 0;
    }

    void accept_all() {
        for (;;) {
            Descriptor near(accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!near.open()) return;
            Descriptor far(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
            const sockaddr_in address = loopback(target_);
            if (connect(far.number(), reinterpret_cast<const sockaddr*>(&address),
                        sizeof address) != 0)
                continue;
            prepare(near);
            prepare(far);
            connections_.emplace_back(std::move(near), std::move(far));
        }
    }

    const std::uint16_t target_;
    const std::chrono::microseconds delay_;
    std::uint16_t port_ = 0;
    const Descriptor listener_;
    const Descriptor stop_;
    std::list<Connected> connections_;
    std::vector<pollfd> polled_;
    std::thread thread_;
};

DistantLink::DistantLink(std::uint16_t target_port, std::chrono::microseconds round_trip)
    : engine_(std::make_unique<Engine>(target_port, round_trip / 2)) {}

DistantLink::~DistantLink() = default;

std::uint16_t DistantLink::port() const { return engine_->port(); }

}  // namespace onceward
