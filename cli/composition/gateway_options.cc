#include "cli/composition/gateway_options.h"

#include <algorithm>

namespace onceward {
namespace {

// Indexed by Format.
constexpr const char* body_types[] = {"application/json", "application/x-protobuf", ""};

std::optional<RateLimit> rate_of(RateLimit rate) {
    if (rate.per_second == 0) return std::nullopt;
    if (rate.burst == 0) rate.burst = rate.per_second;
    rate.burst = std::max(rate.burst, 1.0);
    return rate;
}

// What a request of the route becomes; null for a route to a topic.
const TopicConfiguration* message_of(const Configuration& configuration, std::size_t place) {
    for (const auto* routes : {&configuration.route_sinks, &configuration.route_upstreams}) {
        const auto message = routes->find(place);
        if (message != routes->end()) return &message->second;
    }
    return nullptr;
}

}  // namespace

GatewayOptions gateway_options(const Configuration& configuration) {
    const HttpConfiguration& http = configuration.http;
    GatewayOptions options;
    options.server = http.server;
    if (!http.jwks.empty()) options.tokens = http.tokens;
    for (std::size_t place = 0; place < http.routes.size(); ++place) {
        const RouteConfiguration& from = http.routes[place];
        RouteOptions& route = options.routes.emplace_back(from.options);
        route.token = needs_token(http, from);
        route.tenant_rate = rate_of(from.tenant_rate);
        route.key_rate = rate_of(from.key_rate);
        if (configuration.route_upstreams.contains(place)) {
            route.target = from.upstream;
        } else if (configuration.route_sinks.contains(place)) {
            const auto& sink = configuration.route_sinks.at(place).sink;
            const bool function = std::holds_alternative<FunctionSinkOptions>(sink);
            route.target = SinkTarget{.bulk = from.bulk, .function = function};
        } else {
            route.target = from.topic;
        }
        if (const TopicConfiguration* message = message_of(configuration, place)) {
            route.window = configuration.ledgers.at(message->ledger).retention;
        }
        if (!route.signature) continue;
        route.signature->secrets = {from.secret};
        if (!from.previous_secret.empty()) {
            route.signature->secrets.push_back(from.previous_secret);
        }
    }
    return options;
}

Contract contract_of(const Configuration& configuration, const std::string& version) {
    GatewayOptions options = gateway_options(configuration);
    Contract contract;
    contract.title = configuration.group;
    contract.version = version;
    contract.server = std::move(options.server);
    for (std::size_t place = 0; place < options.routes.size(); ++place) {
        RouteContract& route = contract.routes.emplace_back();
        route.route = std::move(options.routes[place]);
        const TopicConfiguration* const message = message_of(configuration, place);
        if (message == nullptr) continue;
        const LedgerOptions& ledger = configuration.ledgers.at(message->ledger);
        route.ledger = ledger.name;
        route.retention = ledger.retention;
        route.lease = std::chrono::ceil<std::chrono::seconds>(ledger.lease);
        if (configuration.route_sinks.contains(place)) {
            route.body_type = body_types[static_cast<int>(message->format.format)];
        }
    }
    return contract;
}

}  // namespace onceward
