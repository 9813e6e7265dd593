#pragma once
// The HTTP/1.1 server: one thread with an event loop, on Boost.Beast. It answers by itself what
// never becomes a request: 400, 408, 413, 431, 501, 505, as problem details. The handler runs in
// that thread and must not wait; it answers each request once, later and from any thread. Throws
// ServerError if it cannot listen. Construction, stop() and destruction are for one thread.
//
// Why not libevent's evhttp: in 2.1 it answers what is too large with a page of its own and with
// 413 for headers too, bounds each read but not a request (a byte a second holds a connection for
// ever), and does not bound the connections.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "gateway/http/http.h"

namespace onceward {

struct HttpLimits {
    std::size_t body_bytes = 1024 * 1024;
    std::size_t header_bytes = 16 * 1024;
    // Beyond that, new ones wait in the kernel's queue, and the one that was idle longest is
    // closed.
    std::size_t connections = 1000;
    // From a request's first byte to the end of its head.
    std::chrono::milliseconds head_time{10'000};
    // From a request's first byte to its last.
    std::chrono::milliseconds request_time{30'000};
    // How long a connection may be idle between two requests.
    std::chrono::milliseconds idle_time{15'000};
    // How many tenants and keys the rate limits remember, about 150 bytes each.
    std::size_t rate_names = 100'000;
};

struct ServerOptions {
    std::string host = "127.0.0.1";
    std::uint16_t port = 8080;  // 0: the system chooses one
    // PEM files; both or none.
    std::string certificate_file;
    std::string key_file;
    // PEM file: asks clients for a certificate of these authorities, and serves those without one
    // too. '': asks for none.
    std::string client_ca_file;
    HttpLimits limits;
    bool access_log = false;  // a line for each request
};

// Counts of the server's connections, now and since its start.
struct ServerCounts {
    std::int64_t open = 0;
    std::int64_t full = 0;         // how often a peer waited because the limit was reached
    std::int64_t closed_idle = 0;  // to make room for a peer that waited
    // The same, while a request was incomplete, or an answer was not taken.
    std::int64_t closed_slow = 0;
};

class ServerError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

class HttpServer {
  public:
    using Answer = std::function<void(HttpResponse)>;
    using Handler = std::function<void(HttpRequest, Answer)>;
    // Called with the status of each answer that the server gives by itself, in its thread.
    using Refused = std::function<void(int status)>;
    // Listens; clients that connect wait until start().
    HttpServer(const ServerOptions& options, Handler handler, Refused refused = {});
    // Closes what is open without waiting for answers. No Answer may be called after that.
    ~HttpServer();

    void start();
    std::uint16_t port() const;
    // Accepts no more connections and closes idle ones; waits until the requests under way are
    // answered, at most for `limit`. After that the handler is not called any more, and later
    // answers are discarded. REQUIRES: started.
    void stop(std::chrono::milliseconds limit);
    // From any thread.
    ServerCounts counts() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace onceward
