#pragma once
// Which addresses a call may go to. Public ones only, unless a network is allowed by name: what a
// topic says must not reach this machine or its neighbours. Pure; thread-safe.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

struct sockaddr;

namespace onceward {

// IPv4 as an IPv6 address that holds it (RFC 4291, 2.5.5.2), so that there is one form of each.
struct NetworkAddress {
    std::array<std::uint8_t, 16> bytes{};
    friend bool operator==(const NetworkAddress&, const NetworkAddress&) = default;
};

struct Network {
    NetworkAddress address;
    int bits = 128;  // of the 16 bytes
};

// `10.0.0.0/8`, `fc00::/7`, or a single address; none for anything else.
std::optional<Network> parse_network(const std::string& text);
// As the network would be written.
std::string to_text(const NetworkAddress& address);
// None for what is neither IPv4 nor IPv6.
std::optional<NetworkAddress> address_of(const sockaddr* address);

// Loopback, link-local, private, shared, multicast, reserved: all that the registries of special
// addresses (RFC 6890) do not call global, also where an IPv6 address carries such an IPv4 one.
bool is_special(const NetworkAddress& address);

bool may_be_called(const NetworkAddress& address, std::span<const Network> allowed);

}  // namespace onceward
