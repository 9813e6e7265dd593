#pragma once
// Where the process listens for its operator. A plain value; parsing is pure.

#include <cstdint>
#include <optional>
#include <string>

namespace onceward {

struct ListenAddress {
    std::string host;
    std::uint16_t port = 0;  // 0: the system chooses one
};

// `host:port`, `[::1]:port`; none for anything else.
std::optional<ListenAddress> parse_listen_address(const std::string& text);
// The other way round.
std::string to_text(const ListenAddress& address);

}  // namespace onceward
