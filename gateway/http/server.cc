#include "gateway/http/server.h"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <future>
#include <thread>

#include "dedup/base/logging.h"
#include "gateway/http/log_gate.h"
#include "gateway/http/peer.h"
#include "gateway/http/stream_connection.h"

namespace onceward {
namespace {

using namespace serving;

constexpr auto accept_pause = std::chrono::milliseconds(100);  // out of file descriptors
constexpr auto room_pause = std::chrono::milliseconds(50);     // no connection has ended
// A request that is incomplete after this time gives way if a peer waits for its connection.
constexpr auto slow_head = std::chrono::seconds(1);
constexpr auto slow_body = std::chrono::seconds(5);
// So does a connection whose peer has not taken its whole answer after this time.
constexpr auto slow_reader = std::chrono::seconds(5);

std::optional<asio::ssl::context> tls_of(const ServerOptions& options) {
    if (options.certificate_file.empty()) return std::nullopt;
    asio::ssl::context context(asio::ssl::context::tls_server);
    context.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                        asio::ssl::context::no_tlsv1_1);
    context.use_certificate_chain_file(options.certificate_file);
    context.use_private_key_file(options.key_file, asio::ssl::context::pem);
    if (!options.client_ca_file.empty()) {
        ask_for_certificates(context.native_handle(), options.client_ca_file);
    }
    return context;
}

// DANGER: the bytes of one connection must not end the process. Beast throws out of its parser for
// a field above 64 KiB, and fields after a body have no other limit. The handler that should have
// been called is gone, and its connection with it.
void run_to_its_end(asio::io_context& loop) {
    while (true) {
        try {
            loop.run();
            return;
        } catch (const std::exception& error) {
            log_error("http.connection_failed", {{"error", error.what()}});
        }
    }
}

}  // namespace

struct HttpServer::State {
    State(const ServerOptions& options, Handler handle, Refused refuse)
        : limits(options.limits),
          handler(std::move(handle)),
          refused(std::move(refuse)),
          tls(tls_of(options)),
          acceptor(loop),
          pause(loop),
          room(loop) {}

    void listen(const ServerOptions& options) {
        Tcp::resolver resolver(loop);
        const auto found =
            resolver.resolve(options.host, std::to_string(options.port),
                             Tcp::resolver::passive | Tcp::resolver::numeric_service);
        const Tcp::endpoint endpoint = found.begin()->endpoint();
        acceptor.open(endpoint.protocol());
        acceptor.set_option(asio::socket_base::reuse_address(true));
        acceptor.bind(endpoint);
        acceptor.listen();
        port = acceptor.local_endpoint().port();
        accept();
    }

    // Beyond the limit no connection is accepted: clients wait in the kernel's queue.
    void accept() {
        if (draining || accepting) return;
        if (open.size() >= limits.connections) return watch_queue();
        accepting = true;
        acceptor.async_accept([this](error_code error, Tcp::socket socket) {
            accepting = false;
            if (!error) begin(std::move(socket));
            if (!error || draining) return accept();
            log_warning("http.accept_failed", {{"error", error.message()}});
            pause.expires_after(accept_pause);
            pause.async_wait([this](error_code cancelled) {
                if (!cancelled) accept();
            });
        });
    }

    // A peer may be waiting in the kernel's queue, now or later.
    void watch_queue() {
        if (watching) return;
        watching = true;
        acceptor.async_wait(Tcp::acceptor::wait_read, [this](error_code error) {
            watching = false;
            if (error || draining) return;
            if (open.size() < limits.connections) return accept();
            crowded = true;
            ++full;
            if (const auto kept_back = full_lines.pass()) {
                log_warning("http.connections_full",
                            {{"connections", open.size()}, {"kept_back", *kept_back}});
            }
            make_room();
        });
    }

    // Makes room for a peer that waits: closes the connection that has been idle longest, or else
    // ends a request that arrives slowly, or else closes the connection whose peer takes its answer
    // slowest. The end of a connection calls accept(). If none ends now, the next answer closes its
    // connection.
    void make_room() {
        if (!idle.empty()) {
            ++closed_idle;
            return idle.begin()->second->give_way();
        }
        if (OpenConnection* slow = slowest()) {
            ++closed_slow;
            slow->give_way();
        }
        // A request that was ended is answered first, and its peer is given time to read that:
        // those that wait next need not wait for it.
        room.expires_after(room_pause);
        room.async_wait([this](error_code cancelled) {
            if (cancelled || draining || !crowded) return;
            make_room();
        });
    }

    // Null if no peer is slow enough.
    OpenConnection* slowest() const {
        const auto now = std::chrono::steady_clock::now();
        for (const auto& [since, connection] : incoming) {
            if (now - since < slow_head) break;
            if (!connection->in_body() || now - since >= slow_body) return connection;
        }
        if (outgoing.empty() || now - outgoing.begin()->first < slow_reader) return nullptr;
        return outgoing.begin()->second;
    }

    void begin(Tcp::socket socket) {
        crowded = false;
        error_code ignored;
        socket.set_option(Tcp::no_delay(true), ignored);
        if (tls) {
            std::make_shared<StreamConnection<TlsStream>>(common, std::move(socket), *tls)->start();
        } else {
            std::make_shared<StreamConnection<Tcp::socket>>(common, std::move(socket))->start();
        }
        open_now = open.size();
    }

    void drain() {
        draining = true;
        error_code ignored;
        acceptor.close(ignored);
        pause.cancel();
        room.cancel();
        // A closing connection removes itself from the set only after its reads return, not here.
        for (OpenConnection* connection : open) connection->drain();
        look_whether_drained();
    }

    void closed() {
        open_now = open.size();
        if (stopped) return;
        look_whether_drained();
        accept();
    }

    void end() {
        if (!thread.joinable()) return;
        loop.stop();
        thread.join();
        stopped = true;
    }

    void look_whether_drained() {
        if (!draining || !open.empty() || told) return;
        told = true;
        drained.set_value();
    }

    HttpLimits limits;
    Handler handler;
    Refused refused;
    std::optional<asio::ssl::context> tls;
    std::set<OpenConnection*> open;
    WaitingConnections idle, incoming, outgoing;
    std::atomic<std::size_t> open_now{0};
    std::atomic<std::int64_t> full{0}, closed_idle{0}, closed_slow{0};
    LogGate full_lines;
    bool crowded = false;   // a peer waits, and the limit is reached
    bool watching = false;  // waits for a peer to connect
    bool draining = false;
    bool accepting = false;
    bool stopped = false;  // the loop has ended
    bool told = false;
    std::uint16_t port = 0;
    std::promise<void> drained;
    Common common{limits,  handler, loop,     open,     draining, [this] { closed(); },
                  refused, idle,    incoming, outgoing, crowded};
    // The connections that it still holds end with it, and use the members above.
    asio::io_context loop{1};
    Tcp::acceptor acceptor;
    asio::steady_timer pause;
    asio::steady_timer room;
    asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(loop);
    std::thread thread;
};

HttpServer::HttpServer(const ServerOptions& options, Handler handler, Refused refused) try
    : state_(std::make_unique<State>(options, std::move(handler), std::move(refused))) {
    state_->listen(options);
} catch (const boost::system::system_error& error) {
    throw ServerError("cannot listen at " + options.host + ":" + std::to_string(options.port) +
                      ": " + error.what());
}

void HttpServer::start() {
    state_->thread = std::thread([state = state_.get()] { run_to_its_end(state->loop); });
}

std::uint16_t HttpServer::port() const { return state_->port; }

ServerCounts HttpServer::counts() const {
    return {.open = static_cast<std::int64_t>(state_->open_now.load()),
            .full = state_->full,
            .closed_idle = state_->closed_idle,
            .closed_slow = state_->closed_slow};
}

void HttpServer::stop(std::chrono::milliseconds limit) {
    if (!state_->thread.joinable()) return;
    std::future<void> drained = state_->drained.get_future();
    asio::post(state_->loop, [state = state_.get()] { state->drain(); });
    if (drained.wait_for(limit) == std::future_status::timeout) {
        log_warning("http.drain_overdue", {{"milliseconds", limit.count()}});
    }
    state_->end();
}

HttpServer::~HttpServer() { state_->end(); }

}  // namespace onceward
