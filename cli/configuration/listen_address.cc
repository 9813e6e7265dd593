#include "cli/configuration/listen_address.h"

#include <charconv>

namespace onceward {

std::optional<ListenAddress> parse_listen_address(const std::string& text) {
    const auto colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) return std::nullopt;
    ListenAddress address{text.substr(0, colon), 0};
    const bool bracketed = address.host.front() == '[' && address.host.back() == ']';
    if (bracketed) address.host = address.host.substr(1, address.host.size() - 2);
    // An IPv6 address without brackets: its last part would pass for the port.
    if (!bracketed && address.host.find(':') != std::string::npos) return std::nullopt;
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data() + colon + 1, end, address.port);
    if (error != std::errc() || stopped != end || address.host.empty()) return std::nullopt;
    return address;
}

std::string to_text(const ListenAddress& address) {
    const bool version_6 = address.host.find(':') != std::string::npos;
    return (version_6 ? "[" + address.host + "]" : address.host) + ":" +
           std::to_string(address.port);
}

}  // namespace onceward
