#include <arpa/inet.h>

#include <array>
#include <filesystem>

#include "cli/configuration/checks.h"
#include "sinks/webhook/rules.h"

namespace onceward {
namespace {

void check_readable(const std::string& file, const std::string& option, const Section& at) {
    std::error_code ignored;
    if (file.empty() || std::filesystem::is_regular_file(file, ignored)) return;
    at.error(option, "There is no file `" + file + "`. Write one that this program can read.");
}

// Also with a zone, as in `fe80::1%eth0`.
bool is_ip_address(const std::string& host) {
    std::array<unsigned char, 16> bytes{};
    return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
           inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), bytes.data()) == 1;
}

// `at` is `http`, also in the next functions.
void check_listener(const HttpConfiguration& http, const Section& at) {
    const std::optional<ListenAddress> address = parse_listen_address(http.listen_text);
    if (!address) {
        at.error("listen",
                 "`" + http.listen_text +
                     "` is not an address to listen at. Write `127.0.0.1:8080` or `[::1]:8080`.");
    } else if (!is_ip_address(address->host)) {
        at.error("listen", "`" + address->host +
                               "` is a name, which may stand for several addresses. Write the one "
                               "to listen at, such as `127.0.0.1:8080` or `[::1]:8080`.");
    }
    const ServerOptions& server = http.server;
    const std::string both = "TLS needs a certificate and its key. Write `http.tls.";
    at.check({
        {server.key_file.empty() && !server.certificate_file.empty(), "tls.certificate",
         both + "key` too."},
        {server.certificate_file.empty() && !server.key_file.empty(), "tls.key",
         both + "certificate` too."},
    });
    check_readable(server.certificate_file, "tls.certificate", at);
    check_readable(server.key_file, "tls.key", at);
}

// Whether no second server can listen there. The system itself chooses among free ports (0).
bool same_place(ListenAddress one, ListenAddress other) {
    if (one.port == 0 || one.port != other.port) return false;
    for (ListenAddress* address : {&one, &other}) {
        if (address->host == "localhost") address->host = "127.0.0.1";
    }
    // `::` takes the addresses of IPv4 too.
    const auto takes = [](const std::string& all, const std::string& host) {
        return all == "::" || (all == "0.0.0.0" && host.find(':') == std::string::npos);
    };
    return one.host == other.host || takes(one.host, other.host) || takes(other.host, one.host);
}

// The process would run without its admin port, and its probes would ask the front door.
void check_ports(const Configuration& configuration, const Section& at) {
    const auto address = parse_listen_address(configuration.http.listen_text);
    if (!address || !configuration.admin || !same_place(*address, *configuration.admin)) return;
    at.error("listen", "`admin.listen` (" + configuration.admin_text +
                           ") has this port too, and one of the two servers could not start. Write "
                           "another port.");
}

bool is_this_machine(const std::string& host) {
    return host == "localhost" || host == "127.0.0.1" || host == "::1";
}

// DANGER: without a key set no token is verified, and each route is open, also if the file says
// whose tokens are accepted.
void refuse_tokens_without_keys(const Section& at) {
    if (!at.known("tokens.jwks")) return;
    const std::string message = "This does nothing without a key set. Write `http.tokens.jwks`.";
    bool said = false;
    for (const char* option : {"ca_file", "issuer", "audiences", "leeway", "refresh"}) {
        const std::string member = std::string("tokens.") + option;
        if (!at.given(member)) continue;
        at.error(member, message);
        said = true;
    }
    if (at.given("tokens") && !said) at.error("tokens", message);
}

void check_key_set(const HttpConfiguration& http, const Section& at) {
    check_readable(http.jwks_ca_file, "tokens.ca_file", at);
    if (http.jwks.empty()) return refuse_tokens_without_keys(at);
    // By the host alone: 127.0.0.1 begins the names of other hosts as well.
    const std::optional<CallAddress> address = call_address(http.jwks);
    if (http.jwks.find("://") == std::string::npos) {
        check_readable(http.jwks, "tokens.jwks", at);
    } else if (!address) {
        at.error("tokens.jwks",
                 "This is not an address to fetch a key set from. Write an `https://` address "
                 "without a user, or a file.");
    } else if (!address->tls && !is_this_machine(address->host)) {
        at.error("tokens.jwks",
                 "Anybody on the network path could replace the keys. Write an `https://` "
                 "address.");
    }
    if (http.tokens.audiences.empty()) {
        at.warning("tokens.jwks",
                   "A token that was made for another service opens this one. Name this one in "
                   "`http.tokens.audiences`.");
    }
    if (http.tokens.issuer.empty()) {
        at.warning(
            "tokens.jwks",
            "A token of any issuer in the key set is accepted. Name one in `http.tokens.issuer`.");
    }
}

}  // namespace

void check_front_door(const Configuration& configuration, const Section& at) {
    check_listener(configuration.http, at);
    check_ports(configuration, at);
    check_key_set(configuration.http, at);
}

}  // namespace onceward
