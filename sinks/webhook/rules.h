#pragma once
// What a webhook decides without I/O: the key that is sent, the signature, what an answer's status
// means, which headers go either way. Pure; thread-safe; signature() throws std::runtime_error only
// if OpenSSL itself fails.

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dedup/base/secret.h"
#include "dedup/message/digest.h"
#include "dedup/sink/effects.h"

struct sockaddr;

namespace onceward {

// The downstream key as a header holds it: a string of RFC 8941, in quotes.
std::string key_header_value(const Digest& digest);

// `t=<seconds>,v1=<hex>`: HMAC-SHA256 over `<seconds>.<body>`.
std::string signature(const Secret& secret, std::chrono::seconds since_1970, std::string_view body);

// `webhook-id`, `webhook-timestamp` and `webhook-signature`. REQUIRES: the secret is one of
// Standard Webhooks.
std::vector<std::pair<std::string, std::string>> standard_webhooks_headers(
    const Secret& secret, const std::string& id, std::chrono::seconds since_1970,
    std::string_view body);

// done: 2xx. again: 408, 425, 429, `retry_on`, 5xx, and 1xx and 3xx, which say more of the address
// than of the message. failed: the other 4xx, for good.
EffectOutcome::Kind meaning_of(int status, std::span<const int> retry_on);

// Parses Retry-After (RFC 9110, 10.2.3): seconds, or a date. Returns nullopt for anything else.
std::optional<std::chrono::milliseconds> retry_after(std::string_view value,
                                                     std::chrono::seconds now_since_1970);

// For a message that has none, made of its downstream key: the same on each try, not sampled.
std::string own_traceparent(const Digest& digest);

struct CallAddress {
    bool tls = false;
    std::string host;  // of IPv6 without its brackets
};
// Returns nullopt if this is not an http or https address, or has a user in it.
std::optional<CallAddress> call_address(const std::string& url);

// Which addresses a call may go to. Public ones only, unless a network is allowed by name: what a
// topic says must not reach this machine or its neighbours.

// IPv4 as an IPv6 address that holds it (RFC 4291, 2.5.5.2), so that there is one form of each.
struct NetworkAddress {
    std::array<std::uint8_t, 16> bytes{};
    friend bool operator==(const NetworkAddress&, const NetworkAddress&) = default;
};

struct Network {
    NetworkAddress address;
    int bits = 128;  // of the 16 bytes
};

// `10.0.0.0/8`, `fc00::/7`, or a single address; nullopt for anything else.
std::optional<Network> parse_network(const std::string& text);
// Throws std::invalid_argument if one of them is no network.
std::vector<Network> networks_of(const std::vector<std::string>& texts);
// As the network would be written.
std::string to_text(const NetworkAddress& address);
// Returns nullopt if it is neither IPv4 nor IPv6.
std::optional<NetworkAddress> address_of(const sockaddr* address);

// Loopback, link-local, private, shared, multicast, reserved: all that the registries of special
// addresses (RFC 6890) do not call global, and IPv6 addresses that carry such an IPv4 one.
bool is_special(const NetworkAddress& address);

bool may_be_called(const NetworkAddress& address, std::span<const Network> allowed);

}  // namespace onceward
