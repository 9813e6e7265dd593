#include "sinks/webhook/rules.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "dedup/base/text.h"

namespace onceward {
namespace {

std::optional<std::string> part_of(CURLU* url, CURLUPart part) {
    char* text = nullptr;
    if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return std::nullopt;
    std::string copy(text);
    curl_free(text);
    return copy;
}

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

// IANA's registry of special-purpose IPv4 addresses, and multicast.
const std::vector<Network> special_v4 = networks_of(
    {"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
     "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
     "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"});

// The same for IPv6; addresses that carry an IPv4 address are checked below.
const std::vector<Network> special_v6 =
    networks_of({"::/128", "::1/128", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32",
                 "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"});

struct Carrier {
    Network network;
    std::size_t at;  // byte of the IPv4 address in it
};
const std::vector<Carrier> carriers{{parse_network("::/96").value(), 12},
                                    {parse_network("64:ff9b::/96").value(), 12},
                                    {parse_network("2002::/16").value(), 2}};

bool in_any(const NetworkAddress& address, std::span<const Network> list) {
    return std::ranges::any_of(list,
                               [&](const Network& network) { return within(address, network); });
}

}  // namespace

std::string key_header_value(const Digest& digest) { return '"' + downstream_key(digest) + '"'; }

std::string signature(const Secret& secret, std::chrono::seconds since_1970,
                      std::string_view body) {
    const std::string time = std::to_string(since_1970.count());
    std::string text = time + ".";
    text.append(body);
    return "t=" + time + ",v1=" + hmac_sha256(secret.reveal(), text);
}

std::vector<std::pair<std::string, std::string>> standard_webhooks_headers(
    const Secret& secret, const std::string& id, std::chrono::seconds since_1970,
    std::string_view body) {
    const std::string time = std::to_string(since_1970.count());
    const std::string key = standard_webhooks_key(secret.reveal()).value();
    return {{"webhook-id", id},
            {"webhook-timestamp", time},
            {"webhook-signature", "v1," + standard_webhooks_signature(key, id, time, body)}};
}

EffectOutcome::Kind meaning_of(int status, std::span<const int> retry_on) {
    using Kind = EffectOutcome::Kind;
    if (status >= 200 && status < 300) return Kind::done;
    const bool passing = status == 408 || status == 425 || status == 429 ||
                         std::ranges::find(retry_on, status) != retry_on.end();
    if (status >= 400 && status < 500 && !passing) return Kind::failed;
    return Kind::again;
}

std::optional<std::chrono::milliseconds> retry_after(std::string_view value,
                                                     std::chrono::seconds now_since_1970) {
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
    if (value.empty()) return std::nullopt;
    constexpr std::int64_t most = 366LL * 24 * 3600;
    std::int64_t seconds = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    const bool digits = std::isdigit(static_cast<unsigned char>(value.front())) != 0;
    if (digits && end == value.data() + value.size()) {
        return std::chrono::seconds(error == std::errc{} ? std::min(seconds, most) : most);
    }
    const time_t date = curl_getdate(std::string(value).c_str(), nullptr);
    if (date == -1) return std::nullopt;
    const std::int64_t left = static_cast<std::int64_t>(date) - now_since_1970.count();
    return std::chrono::seconds(std::clamp<std::int64_t>(left, 0, most));
}

std::string own_traceparent(const Digest& digest) {
    std::string trace = downstream_key(digest);
    std::erase(trace, '-');
    return "00-" + trace + '-' + trace.substr(16) + "-00";
}

std::optional<CallAddress> call_address(const std::string& text) {
    const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url(curl_url(), &curl_url_cleanup);
    if (!url || curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) {
        return std::nullopt;
    }
    const auto scheme = part_of(url.get(), CURLUPART_SCHEME);
    const auto host = part_of(url.get(), CURLUPART_HOST);
    const bool user = part_of(url.get(), CURLUPART_USER) || part_of(url.get(), CURLUPART_PASSWORD);
    if (!scheme || !host || user || (*scheme != "http" && *scheme != "https")) return std::nullopt;
    const bool brackets = host->starts_with('[') && host->ends_with(']');
    return CallAddress{*scheme == "https", brackets ? host->substr(1, host->size() - 2) : *host};
}

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
        const auto given = number_of<int>(std::string_view(text).substr(slash + 1));
        if (!given || *given < 0 || *given > most) return std::nullopt;
        bits = *given;
    }
    network.bits = most == 32 ? v4_begin + bits : bits;
    return network;
}

std::vector<Network> networks_of(const std::vector<std::string>& texts) {
    std::vector<Network> networks;
    for (const std::string& text : texts) {
        const auto network = parse_network(text);
        if (!network) throw std::invalid_argument("no network: " + text);
        networks.push_back(*network);
    }
    return networks;
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
    if (is_v4(address)) return in_any(address, special_v4);
    if (in_any(address, special_v6)) return true;
    return std::ranges::any_of(carriers, [&](const Carrier& carrier) {
        return within(address, carrier.network) &&
               in_any(mapped(address.bytes.data() + carrier.at), special_v4);
    });
}

bool may_be_called(const NetworkAddress& address, std::span<const Network> allowed) {
    return !is_special(address) || in_any(address, allowed);
}

}  // namespace onceward
