#include "gateway/server.h"

#include <boost/asio/executor_work_guard.hpp>
#include <future>
#include <thread>

#include "dedup/log.h"
#include "gateway/stream_connection.h"

namespace onceward {
namespace {

using namespace serving;

constexpr auto accept_pause = std::chrono::milliseconds(100);  // out of file descriptors

std::optional<asio::ssl::context> tls_of(const ServerOptions& options) {
    if (options.certificate_file.empty()) return std::nullopt;
    asio::ssl::context context(asio::ssl::context::tls_server);
    context.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                        asio::ssl::context::no_tlsv1_1);
    context.use_certificate_chain_file(options.certificate_file);
    context.use_private_key_file(options.key_file, asio::ssl::context::pem);
    return context;
}

// DANGER: what one connection's bytes bring about must not end the process: Beast throws out of its
// parser for a field above 64 KiB, of which the one behind a body has no other limit. Whatever was
// to be called then is gone, and its connection with it.
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
    State(const ServerOptions& options, Handler handle)
        : limits(options.limits),
          handler(std::move(handle)),
          tls(tls_of(options)),
          acceptor(loop),
          pause(loop) {}

    void listen(const ServerOptions& options) {
        Tcp::resolver resolver(loop);
        const auto found = resolver.resolve(options.host, std::to_string(options.port),
                                            Tcp::resolver::passive |
                                                Tcp::resolver::numeric_service);
        const Tcp::endpoint endpoint = found.begin()->endpoint();
        acceptor.open(endpoint.protocol());
        acceptor.set_option(asio::socket_base::reuse_address(true));
        acceptor.bind(endpoint);
        acceptor.listen();
        port = acceptor.local_endpoint().port();
        accept();
    }

    // Beyond the limit nobody is accepted: they wait in the kernel's queue.
    void accept() {
        if (draining || accepting || open.size() >= limits.connections) return;
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

    void begin(Tcp::socket socket) {
        error_code ignored;
        socket.set_option(Tcp::no_delay(true), ignored);
        if (tls) {
            std::make_shared<StreamConnection<TlsStream>>(common, std::move(socket), *tls)->start();
        } else {
            std::make_shared<StreamConnection<Tcp::socket>>(common, std::move(socket))->start();
        }
    }

    void drain() {
        draining = true;
        error_code ignored;
        acceptor.close(ignored);
        pause.cancel();
        // A connection that closes takes itself out of the set, though not before its reads return.
        for (OpenConnection* connection : open) connection->drain();
        look_whether_drained();
    }

    void closed() {
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
    std::optional<asio::ssl::context> tls;
    std::set<OpenConnection*> open;
    bool draining = false;
    bool accepting = false;
    bool stopped = false;  // the loop has ended
    bool told = false;
    std::uint16_t port = 0;
    std::promise<void> drained;
    Common common{limits, handler, loop, open, draining, [this] { closed(); }};
    // The connections that it still holds end with it, while all above is there.
    asio::io_context loop{1};
    Tcp::acceptor acceptor;
    asio::steady_timer pause;
    asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(loop);
    std::thread thread;
};

HttpServer::HttpServer(const ServerOptions& options, Handler handler) try
    : state_(std::make_unique<State>(options, std::move(handler))) {
    state_->listen(options);
} catch (const boost::system::system_error& error) {
    throw ServerError("cannot listen at " + options.host + ":" + std::to_string(options.port) +
                      ": " + error.what());
}

void HttpServer::start() {
    state_->thread = std::thread([state = state_.get()] { run_to_its_end(state->loop); });
}

std::uint16_t HttpServer::port() const { return state_->port; }

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
