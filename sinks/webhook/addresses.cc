#include "sinks/webhook/addresses.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace onceward {
namespace {

constexpr int v4_begin = 96;  // where an IPv4 address begins, in bits
constexpr std::array<std::uint8_t, 12> mapped_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

NetworkAddress mapped(const std::uint8_t* four) {
    NetworkAddress address;
    std::ranges::copy(mapped_prefix, address.bytes.begin());
    std::copy_n(four, 4, address.bytes.begin() + 12);
    return address;
}

bool is_v4(const NetworkAddress& address) {
    return std::equal(mapped_prefix.begin(), mapped_prefix.end(), address.bytes.begin());
}

bool within(const NetworkAddress& address, const Network& network) {
    const auto bits = static_cast<std::size_t>(network.bits);
    const std::size_t whole = bits / 8;
    if (std::memcmp(address.bytes.data(), network.address.bytes.data(), whole) != 0) return false;
    if (bits % 8 == 0) return true;
    const auto mask = static_cast<std::uint8_t>(0xFF << (8 - bits % 8));
    return ((address.bytes[whole] ^ network.address.bytes[whole]) & mask) == 0;
}

std::vector<Network> networks(std::initializer_list<const char*> texts) {
    std::vector<Network> list;
    for (const char* text : texts) list.push_back(parse_network(text).value());
    return list;
}

// IANA's registry of special-purpose IPv4 addresses, and multicast.
const std::vector<Network>& special_v4() {
    static const std::vector<Network> list = networks(
        {"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
         "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
         "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"});
    return list;
}

// The same for IPv6; addresses that carry an IPv4 address are checked below.
const std::vector<Network>& special_v6() {
    static const std::vector<Network> list =
        networks({"::/128", "::1/128", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32",
                  "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"});
    return list;
}

struct Carrier {
    Network network;
    std::size_t at;  // byte of the IPv4 address in it
};
const std::vector<Carrier>& carriers() {
    static const std::vector<Carrier> list{{parse_network("::/96").value(), 12},
                                           {parse_network("64:ff9b::/96").value(), 12},
                                           {parse_network("2002::/16").value(), 2}};
    return list;
}

bool in_any(const NetworkAddress& address, std::span<const Network> list) {
    return std::ranges::any_of(list,
                               [&](const Network& network) { return within(address, network); });
}

}  // namespace

std::optional<Network> parse_network(const std::string& text) {
    const std::size_t slash = text.find('/');
    const std::string host = text.substr(0, slash);
    Network network;
    int most = 128;
    in_addr four{};
    if (inet_pton(AF_INET, host.c_str(), &four) == 1) {
        network.address = mapped(reinterpret_cast<const std::uint8_t*>(&four.s_addr));
        most = 32;
    } else if (inet_pton(AF_INET6, host.c_str(), network.address.bytes.data()) != 1) {
        return std::nullopt;
    }
    int bits = most;
    if (slash != std::string::npos) {
        const char* begin = text.data() + slash + 1;
        const char* end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(begin, end, bits);
        if (error != std::errc{} || stop != end || bits < 0 || bits > most) return std::nullopt;
    }
    network.bits = most == 32 ? v4_begin + bits : bits;
    return network;
}

std::string to_text(const NetworkAddress& address) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (is_v4(address)) {
        inet_ntop(AF_INET, address.bytes.data() + 12, text.data(), text.size());
    } else {
        inet_ntop(AF_INET6, address.bytes.data(), text.data(), text.size());
    }
    return text.data();
}

std::optional<NetworkAddress> address_of(const sockaddr* address) {
    if (address->sa_family == AF_INET) {
        sockaddr_in four{};
        std::memcpy(&four, address, sizeof four);
        return mapped(reinterpret_cast<const std::uint8_t*>(&four.sin_addr.s_addr));
    }
    if (address->sa_family != AF_INET6) return std::nullopt;
    sockaddr_in6 six{};
    std::memcpy(&six, address, sizeof six);
    NetworkAddress found;
    std::memcpy(found.bytes.data(), &six.sin6_addr, found.bytes.size());
    return found;
}

bool is_special(const NetworkAddress& address) {
    if (is_v4(address)) return in_any(address, special_v4());
    if (in_any(address, special_v6())) return true;
    return std::ranges::any_of(carriers(), [&](const Carrier& carrier) {
        return within(address, carrier.network) &&
               in_any(mapped(address.bytes.data() + carrier.at), special_v4());
    });
}

bool may_be_called(const NetworkAddress& address, std::span<const Network> allowed) {
    return !is_special(address) || in_any(address, allowed);
}

}  // namespace onceward
