#pragma once
// How a client's requests travel: an interface, and its implementation with libcurl. A transport is
// used by one thread at a time. What the other side does, or does not do, is in the answer; an
// invalid http address is a std::invalid_argument. make_curl_transport() throws std::runtime_error
// if libcurl cannot start.

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace onceward::client {

// Name and value; names in any case.
using Headers = std::vector<std::pair<std::string, std::string>>;

struct Sending {
    std::string method;
    std::string url;
    Headers headers;
    std::string body;
    std::chrono::milliseconds timeout{};
};

struct Response {
    int status = 0;
    Headers headers;
    std::string body;
};

// None came, or not all of it.
struct NoResponse {
    std::string reason;
    bool sent = true;  // any of the request; if not, it surely has had no effect
};

class Transport {
  public:
    virtual ~Transport() = default;
    virtual std::variant<Response, NoResponse> send(const Sending& request) = 0;
};

// Verifies TLS and follows no redirect. It keeps its connection for the next request.
std::unique_ptr<Transport> make_curl_transport();

}  // namespace onceward::client
