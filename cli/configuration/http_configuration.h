#pragma once
// The configuration's part `http`: where the front door listens, and its routes. Plain values; the
// table of options (http_options.cc) says what each means.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "cli/configuration/mark.h"
#include "gateway/requests/route_options.h"

namespace onceward {

struct RouteConfiguration {
    Mark mark;
    std::string path;  // of the option, such as `http.routes[0]`
    // Without its target, which is made of the following.
    RouteOptions options;
    enum class Token : std::uint8_t { required, none };
    // none: required where there are `http.tokens`, and no signature
    std::optional<Token> token;
    Secret secret;
    Secret previous_secret;
    RateLimit tenant_rate{.per_second = 0, .burst = 0};  // 0: without a limit
    RateLimit key_rate{.per_second = 0, .burst = 0};
    TopicTarget topic;  // with its name: a route to a topic
    bool bulk = false;  // of a route to a sink
    UpstreamTarget upstream;
};

struct HttpConfiguration {
    ServerOptions server;
    std::string listen_text;  // as it was written
    // Where the issuer's key set is: an address or a file. '': no tokens.
    std::string jwks;
    std::string jwks_ca_file;  // PEM, in place of the system's; '': the system's
    TokenOptions tokens;
    std::chrono::milliseconds jwks_refresh{std::chrono::minutes(15)};
    std::vector<RouteConfiguration> routes;  // in the file's order
};

// Whether a request to the route needs a bearer token.
inline bool needs_token(const HttpConfiguration& http, const RouteConfiguration& route) {
    if (route.token) return *route.token == RouteConfiguration::Token::required;
    return !http.jwks.empty() && !route.options.signature;
}

}  // namespace onceward
