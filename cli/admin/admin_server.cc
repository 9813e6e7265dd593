#include "cli/admin/admin_server.h"

#include <httplib.h>
#include <sys/socket.h>

#include <cstring>
#include <thread>

#include "dedup/log.h"

namespace onceward {
namespace {

using namespace std::chrono_literals;

constexpr int threads = 4;
constexpr int keep_alive_s = 1;  // one scraper at a time; a short one frees the thread for others
constexpr const char* json_type = "application/json";
constexpr const char* metrics_type = "text/plain; version=0.0.4; charset=utf-8";

void answer(const HealthVerdict& verdict, httplib::Response& response) {
    response.status = verdict.good() ? 200 : 503;
    response.set_content(to_json(verdict), json_type);
}

// Never SO_REUSEPORT, which is the library's default: two processes would share the port, and each
// answer would come from either of them.
void exclusive(int socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
}

}  // namespace

struct AdminServer::State {
    httplib::Server server;
    std::thread thread;
};

AdminServer::AdminServer(const ListenAddress& address, Sources sources)
    : address_(address), state_(std::make_unique<State>()) {
    httplib::Server& server = state_->server;
    server.new_task_queue = [] { return new httplib::ThreadPool(threads); };
    server.set_keep_alive_timeout(keep_alive_s);
    server.set_socket_options(exclusive);
    server.Get("/livez",
               [live = sources.live](const httplib::Request&, httplib::Response& response) {
                   answer(live(), response);
               });
    server.Get("/readyz",
               [ready = sources.ready](const httplib::Request&, httplib::Response& response) {
                   answer(ready(), response);
               });
    server.Get("/metrics",
               [metrics = sources.metrics](const httplib::Request&, httplib::Response& response) {
                   response.set_content(metrics(), metrics_type);
               });
    errno = 0;
    const int port = address.port == 0 ? server.bind_to_any_port(address.host)
                     : server.bind_to_port(address.host, address.port) ? address.port
                                                                       : -1;
    if (port <= 0) {
        throw AdminError("cannot listen at " + to_text(address) + ": " +
                         (errno == 0 ? "no such address" : std::strerror(errno)));
    }
    address_.port = static_cast<std::uint16_t>(port);
    state_->thread = std::thread([&server] { server.listen_after_bind(); });
    // A stop() before it runs would be overheard.
    for (int i = 0; i < 1000 && !server.is_running(); ++i) std::this_thread::sleep_for(1ms);
}

AdminServer::~AdminServer() {
    state_->server.stop();
    state_->thread.join();
}

AdminAnswer ask_admin_port(const ListenAddress& address, const std::string& path,
                           std::chrono::milliseconds timeout) {
    // Who listens everywhere is reached here.
    const bool everywhere = address.host == "0.0.0.0" || address.host == "::";
    httplib::Client client(everywhere ? "127.0.0.1" : address.host, address.port);
    client.set_connection_timeout(timeout);
    client.set_read_timeout(timeout);
    const httplib::Result result = client.Get(path);
    if (!result) {
        throw AdminError("no answer from " + to_text(address) + path + ": " +
                         httplib::to_string(result.error()));
    }
    return {result->status, result->body};
}

}  // namespace onceward
