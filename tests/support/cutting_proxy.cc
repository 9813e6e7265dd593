#include "tests/support/cutting_proxy.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/proxied_link.h"

namespace onceward::support {

class CuttingProxy::Engine {
  public:
    struct Settings {
        std::uint16_t target = 0;
        std::function<CommitFault(const ProxiedCommit&)> rule;
        AnswerRule answer_rule;
        std::optional<ByteCut> byte_cut;
        std::chrono::milliseconds latency{0};
        std::uint64_t bytes_a_second = 0;
        bool black_hole = false;
        bool hold_answers = false;
        bool refuse = false;
        bool own_process_id = false;
        bool cut_all = false;
        bool stop = false;

        bool lets_through(Direction direction) const {
            return !black_hole && !(hold_answers && direction == Direction::to_client);
        }
    };

    Engine(Protocol protocol, std::uint16_t target)
        : protocol_(protocol), listener_(listen_anywhere(port_)), wake_(eventfd(0, EFD_CLOEXEC)) {
        settings_.target = target;
        thread_ = std::thread([this] { run(); });
    }
    ~Engine() {
        change([](Settings& settings) { settings.stop = true; });
        thread_.join();
    }

    template <class Change>
    void change(Change change) {
        {
            const std::lock_guard lock(mutex_);
            change(settings_);
        }
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
    }

    std::uint16_t port() const { return port_; }
    std::atomic<std::uint64_t> commits{0};
    std::atomic<std::uint64_t> cuts{0};
    std::atomic<std::uint64_t> byte_cuts{0};
    std::atomic<std::uint64_t> connections{0};
    std::atomic<std::uint64_t> bytes{0};

  private:
    static constexpr std::array directions{Direction::to_server, Direction::to_client};

    Settings current_settings() {
        const std::lock_guard lock(mutex_);
        return settings_;
    }
    bool take_cut_all() {
        const std::lock_guard lock(mutex_);
        return std::exchange(settings_.cut_all, false);
    }

    void run() {
        for (;;) {
            const Settings settings = current_settings();
            if (settings.stop) return;
            if (take_cut_all()) {
                for (ProxiedLink& link : links_) link.cut();
            }
            sweep();
            poll_once(settings);
        }
    }

    void sweep() {
        links_.remove_if([this](const ProxiedLink& link) {
            if (link.finished() && link.was_cut()) ++cuts;
            if (link.finished() && link.was_cut_at_its_byte()) ++byte_cuts;
            return link.finished();
        });
    }

    void poll_once(const Settings& settings) {
        auto now = ProxiedLink::Clock::now();
        std::vector<pollfd> entries{{wake_.get(), POLLIN, 0}, {-1, POLLIN, 0}};
        if (settings.target != 0 || settings.refuse) entries[1].fd = listener_.get();
        int limit_ms = -1;
        for (const ProxiedLink& link : links_) {
            for (const Direction direction : directions) {
                const bool open = settings.lets_through(direction);
                const bool readable = open && link.wants_to_read(direction);
                const bool writable = open && link.wants_to_write(direction, now);
                entries.push_back({readable ? link.reading_socket(direction) : -1, POLLIN, 0});
                entries.push_back({writable ? link.writing_socket(direction) : -1, POLLOUT, 0});
            }
            if (const auto due = link.next_due(); due && *due > now && !settings.black_hole) {
                const auto wait = std::chrono::ceil<std::chrono::milliseconds>(*due - now).count();
                limit_ms = limit_ms < 0 ? static_cast<int>(wait)
                                        : std::min(limit_ms, static_cast<int>(wait));
            }
        }
        poll(entries.data(), entries.size(), limit_ms);
        now = ProxiedLink::Clock::now();
        if (entries[0].revents != 0) {
            std::uint64_t ignored = 0;
            [[maybe_unused]] const auto size = ::read(wake_.get(), &ignored, sizeof ignored);
        }
        // What was set while we waited holds for what arrived meanwhile.
        const Settings changed = current_settings();
        serve(changed, entries, now);
        if (entries[1].revents != 0) accept_one(changed);
    }

    void serve(const Settings& settings, const std::vector<pollfd>& entries,
               ProxiedLink::Clock::time_point now) {
        const CommitRule rule = [&](const std::string& application_name) {
            const std::uint64_t number = ++commits;
            return settings.rule ? settings.rule({number, application_name}) : CommitFault::none;
        };
        std::size_t entry = 2;
        for (ProxiedLink& link : links_) {
            for (const Direction direction : directions) {
                const bool readable = entries[entry++].revents != 0;
                const bool writable = entries[entry++].revents != 0;
                if (!settings.lets_through(direction)) continue;
                if (readable && link.wants_to_read(direction))
                    bytes += link.read(direction, {now + settings.latency, settings.bytes_a_second},
                                       {rule, settings.answer_rule});
                if (writable || readable) link.write(direction, now);
            }
        }
    }

    void accept_one(const Settings& settings) {
        Socket client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!client.open()) return;
        ++connections;
        if (settings.refuse) return;
        prepare(client);
        Socket server = connect_to(settings.target);
        if (!server.open()) return;
        links_.emplace_back(std::move(client), std::move(server), protocol_, settings.byte_cut);
        if (settings.own_process_id) links_.back().change_process_id();
    }

    Protocol protocol_;
    std::uint16_t port_ = 0;
    Socket listener_;
    Socket wake_;
    std::mutex mutex_;
    Settings settings_;
    std::list<ProxiedLink> links_;
    std::thread thread_;
};

CuttingProxy::CuttingProxy(Protocol protocol, std::uint16_t target_port)
    : engine_(std::make_unique<Engine>(protocol, target_port)) {}

CuttingProxy::~CuttingProxy() = default;

std::uint16_t CuttingProxy::port() const { return engine_->port(); }
std::string CuttingProxy::through(const std::string& dsn) const {
    // libpq takes the last of repeated keywords.
    return dsn + " sslmode=disable host=127.0.0.1 port=" + std::to_string(port());
}

void CuttingProxy::set_target(std::uint16_t port) {
    engine_->change([&](Engine::Settings& settings) { settings.target = port; });
}

void CuttingProxy::on_commit(std::function<CommitFault(const ProxiedCommit&)> rule) {
    engine_->change([&](Engine::Settings& settings) { settings.rule = std::move(rule); });
}

void CuttingProxy::on_answer(AnswerRule rule) {
    engine_->change([&](Engine::Settings& settings) { settings.answer_rule = std::move(rule); });
}

void CuttingProxy::cut_at(Direction direction, std::uint64_t bytes) {
    engine_->change([&](Engine::Settings& settings) { settings.byte_cut = {direction, bytes}; });
}

void CuttingProxy::cut_nowhere() {
    engine_->change([](Engine::Settings& settings) { settings.byte_cut.reset(); });
}

void CuttingProxy::delay(std::chrono::milliseconds latency) {
    engine_->change([&](Engine::Settings& settings) { settings.latency = latency; });
}

void CuttingProxy::limit(std::uint64_t bytes_a_second) {
    engine_->change([&](Engine::Settings& settings) { settings.bytes_a_second = bytes_a_second; });
}

void CuttingProxy::black_hole(bool on) {
    engine_->change([&](Engine::Settings& settings) { settings.black_hole = on; });
}

void CuttingProxy::hold_answers(bool on) {
    engine_->change([&](Engine::Settings& settings) { settings.hold_answers = on; });
}

void CuttingProxy::answer_with_own_process_id(bool on) {
    engine_->change([&](Engine::Settings& settings) { settings.own_process_id = on; });
}

void CuttingProxy::refuse(bool on) {
    engine_->change([&](Engine::Settings& settings) { settings.refuse = on; });
}

void CuttingProxy::cut_all() {
    engine_->change([](Engine::Settings& settings) { settings.cut_all = true; });
}

std::uint64_t CuttingProxy::commits() const { return engine_->commits; }

std::uint64_t CuttingProxy::cuts() const { return engine_->cuts; }

std::uint64_t CuttingProxy::byte_cuts() const { return engine_->byte_cuts; }

std::uint64_t CuttingProxy::connections() const { return engine_->connections; }

std::uint64_t CuttingProxy::bytes() const { return engine_->bytes; }

}  // namespace onceward::support
