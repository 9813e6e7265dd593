#pragma once
// The HTTP/1.1 server: one thread with an event loop, on Boost.Beast. It answers by itself what
// never becomes a request: 400, 408, 413, 431, 501, 505, as problem details. The handler runs in
// that thread and must not wait; it answers each request once, later and from any thread. Throws
// ServerError where it cannot listen. Construction, stop() and destruction are for one thread.
//
// Why not libevent's evhttp: in 2.1 it answers what is too large with a page of its own and with
// 413 for headers too, bounds each read but not a request (a byte a second holds a connection for
// ever), and does not bound the connections.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>

#include "gateway/http/http.h"
#include "gateway/http/server_options.h"

namespace onceward {

// What the server's connections are, and what they were.
struct ServerCounts {
    std::int64_t open = 0;
    std::int64_t full = 0;         // times that somebody waited, as there were as many as may be
    std::int64_t closed_idle = 0;  // for those who waited
    std::int64_t closed_slow = 0;  // the same, of requests that had not come whole
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
    // Closes what is open, as stop() does. Answers are given while it lives.
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
