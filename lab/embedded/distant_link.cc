#include "lab/embedded/distant_link.h"

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
#include "lab/embedded/socket.h"

namespace onceward {
namespace {

using Clock = std::chrono::steady_clock;

// The two ends of a connection, and the two ways between them.
struct Connected {
    Connected(Socket nearer, Socket farther)
        : near(std::move(nearer)),
          far(std::move(farther)),
          there(near.get(), far.get()),
          back(far.get(), near.get()) {}

    Socket near;
    Socket far;
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
        eventfd_write(stop_.get(), 1);
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
        polled_ = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
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
            Socket near(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!near.open()) return;
            prepare(near);
            Socket far = connect_to(target_);
            if (!far.open()) continue;
            connections_.emplace_back(std::move(near), std::move(far));
        }
    }

    const std::uint16_t target_;
    const std::chrono::microseconds delay_;
    std::uint16_t port_ = 0;
    const Socket listener_;
    const Socket stop_;
    std::list<Connected> connections_;
    std::vector<pollfd> polled_;
    std::thread thread_;
};

DistantLink::DistantLink(std::uint16_t target_port, std::chrono::microseconds round_trip)
    : engine_(std::make_unique<Engine>(target_port, round_trip / 2)) {}

DistantLink::~DistantLink() = default;

std::uint16_t DistantLink::port() const { return engine_->port(); }

}  // namespace onceward
