#pragma once
// HTTP calls, many at a time, in a thread of their own: libcurl's multi interface. The caller may
// be busy meanwhile, for instance with a COMMIT that waits; without this thread libcurl would
// discard an answer that it reads after the call's time. It follows no redirect, asks no proxy,
// verifies TLS, refuses addresses that are not public when it connects, and reads no more of an
// answer than it was asked to. Used by one thread. What the other side does is in the answer;
// HttpClient() throws std::runtime_error if libcurl cannot start.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dedup/base/secret.h"
#include "dedup/sink/effects.h"
#include "sinks/webhook/rules.h"

namespace onceward {

struct HttpClientOptions {
    std::size_t concurrency = 16;
    // For one call, and for its connection only.
    std::chrono::milliseconds timeout{10'000};
    std::chrono::milliseconds connect_timeout{3'000};
    std::vector<Network> allowed;  // in addition to the public addresses
    std::string ca_file;           // '': the system's
    // The client certificate for a server that asks for one (mutual TLS); '': none.
    std::string certificate_file{};
    std::string key_file{};
    std::int64_t answer_bytes = 65'536;
    // Whether each call has a connection of its own, which takes a round trip more, two with TLS.
    bool fresh_connections = false;
};

struct HttpCall {
    Secret url;
    std::string method;
    std::vector<std::pair<std::string, Secret>> headers;
    std::string body;
};

class HttpClient {
  public:
    explicit HttpClient(HttpClientOptions options);
    ~HttpClient();
    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;

    // REQUIRES: fewer than `concurrency` are under way, and none with this number.
    void begin(std::uint64_t number, HttpCall request);
    // Waits until a call has ended, at most for `most`; it waits also if no call is under way.
    std::vector<HttpAnswer> wait(std::chrono::milliseconds most);
    void cancel(std::uint64_t number);

  private:
    struct Call;
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace onceward
