#pragma once
// Where the HTTP server listens, and its limits. Plain values.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace onceward {

struct HttpLimits {
    std::size_t body_bytes = 1024 * 1024;
    std::size_t header_bytes = 16 * 1024;
    // Beyond it new ones wait in the kernel's queue, and the one goes that has been idle longest.
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
    HttpLimits limits;
    bool access_log = false;  // a line for each request
};

}  // namespace onceward
