#include "dedup/sink/http_header_rules.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace onceward {
namespace {

char lower_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char variable_letter(char c) { return c == '_' ? '-' : lower_letter(c); }

bool is_any(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::ranges::any_of(names, [&](std::string_view one) { return same_header(one, name); });
}

bool is_any_variable(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::ranges::any_of(names,
                               [&](std::string_view one) { return same_variable(one, name); });
}

bool begins_as_variable(std::string_view name, std::string_view prefix) {
    return name.size() >= prefix.size() && same_variable(name.substr(0, prefix.size()), prefix);
}

}  // namespace

bool same_header(std::string_view left, std::string_view right) {
    return std::ranges::equal(left, right, {}, lower_letter, lower_letter);
}

bool same_variable(std::string_view left, std::string_view right) {
    return std::ranges::equal(left, right, {}, variable_letter, variable_letter);
}

std::string_view without_blanks(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool valid_header_name(std::string_view name) {
    constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
    return !name.empty() && std::ranges::all_of(name, [&](char c) {
        const char letter = lower_letter(c);
        return (letter >= 'a' && letter <= 'z') || (c >= '0' && c <= '9') ||
               marks.find(c) != std::string_view::npos;
    });
}

bool valid_header_value(std::string_view value) {
    return std::ranges::all_of(value, [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte == '\t' || (byte >= 0x20 && byte != 0x7F);
    });
}

bool is_of_one_hop(std::string_view name) {
    return is_any(name, {"connection", "http2-settings", "keep-alive", "proxy-authenticate",
                         "proxy-authentication-info", "proxy-authorization", "proxy-connection",
                         "te", "trailer", "transfer-encoding", "upgrade"});
}

std::vector<std::string> names_of_the_hop(
    const std::vector<std::pair<std::string, std::string>>& headers) {
    std::vector<std::string> names;
    for (const auto& [header, value] : headers) {
        if (!same_header(header, "connection")) continue;
        std::string_view rest = value;
        while (!rest.empty()) {
            const std::size_t comma = std::min(rest.find(','), rest.size());
            std::string name(without_blanks(rest.substr(0, comma)));
            std::ranges::transform(name, name.begin(), lower_letter);
            if (!name.empty()) names.push_back(std::move(name));
            rest.remove_prefix(std::min(comma + 1, rest.size()));
        }
    }
    return names;
}

bool is_never_stored(std::string_view name) {
    return is_of_one_hop(name) ||
           is_any(name, {"authentication-info", "authorization", "content-length", "cookie",
                         "set-cookie", "set-cookie2", "www-authenticate"});
}

bool is_never_forwarded(std::string_view name) {
    return is_of_one_hop(name) || is_own_header(name) || is_a_proxys_word(name) ||
           is_any_variable(name, {"accept-encoding", "content-length", "expect", "host"});
}

bool is_a_proxys_word(std::string_view name) {
    constexpr std::array<std::string_view, 13> families{"cf-",
                                                        "x-amzn-oidc-",
                                                        "x-auth-request-",
                                                        "x-azure-",
                                                        "x-client-cert",
                                                        "x-envoy-",
                                                        "x-forwarded",
                                                        "x-goog-authenticated-",
                                                        "x-goog-iap-",
                                                        "x-ms-client-principal",
                                                        "x-original-",
                                                        "x-remote-",
                                                        "x-ssl-"};
    const auto begins = [&](std::string_view one) { return begins_as_variable(name, one); };
    return std::ranges::any_of(families, begins) ||
           is_any_variable(name, {"client-cert",         "client-cert-chain",
                                  "client-ip",           "fastly-client-ip",
                                  "fly-client-ip",       "forwarded",
                                  "forwarded-for",       "remote-addr",
                                  "remote-user",         "ssl-client-cert",
                                  "ssl-client-verify",   "true-client-ip",
                                  "x-appengine-user-ip", "x-client-ip",
                                  "x-cluster-client-ip", "x-host",
                                  "x-http-method",       "x-http-method-override",
                                  "x-method-override",   "x-proxyuser-ip",
                                  "x-real-ip",           "x-rewrite-url"});
}

bool is_own_header(std::string_view name) {
    return same_variable(name, "idempotency-key") || begins_as_variable(name, "onceward-");
}

bool is_of_the_call(std::string_view name) {
    return is_of_one_hop(name) || is_any(name, {"content-length", "content-type", "expect", "host",
                                                "traceparent", "tracestate"});
}

}  // namespace onceward
