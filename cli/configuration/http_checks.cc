#include "cli/configuration/checks.h"
#include "dedup/message/digest.h"
#include "dedup/sink/http_header_rules.h"

namespace onceward {
namespace {

void check_header(const std::string& name, const std::string& option, const Section& at) {
    if (!name.empty() && has_only(name, "-_")) return;
    at.error(
        option,
        "`" + name +
            "` is not a header's name. Write letters, digits and `-`, such as `Idempotency-Key`.");
}

// `at` is the route.
void check_standard_webhooks(const RouteConfiguration& route, const Section& at) {
    const auto good = [](const Secret& secret) {
        return secret.empty() || standard_webhooks_key(secret.reveal()).has_value();
    };
    const std::string wanted =
        "A secret of this scheme is base64 of 24 to 64 bytes, `whsec_` before it or not. Write it "
        "as the provider shows it.";
    at.check({
        {at.known("signature.secret") && !good(route.secret), "signature.secret", wanted},
        {at.known("signature.previous_secret") && !good(route.previous_secret),
         "signature.previous_secret", wanted},
    });
    const RouteOptions& options = route.options;
    const bool by_id = options.key_field.empty() && !route.bulk &&
                       options.key.use != KeyUse::forbidden &&
                       !same_header(options.key.header, signed_id_header(*options.signature));
    if (!by_id) return;
    at.warning("signature.scheme",
               "The header `" + options.key.header +
                   "` is not signed, and `webhook-id` is, which stays over the provider's tries. "
                   "Write `key: {header: webhook-id}`.");
}

void check_signature(const RouteConfiguration& route, const Section& at) {
    const Section here = at.at("signature");
    if (!route.options.signature) {
        here.refuse({"secret", "previous_secret", "header", "time_header"},
                    "This does nothing without a scheme. Write `signature.scheme` too.");
        return;
    }
    if (route.secret.empty() && here.known("secret")) {
        here.error("scheme",
                   "A signature is verified with a secret. Write `signature.secret`, such as "
                   "`${file:webhook.secret}`.");
    }
    if (route.options.signature->scheme == SignatureOptions::Scheme::standard_webhooks) {
        check_standard_webhooks(route, at);
    }
    if (route.options.signature->scheme != SignatureOptions::Scheme::hmac) {
        here.refuse({"header", "time_header"},
                    "This scheme has headers of its own. Remove it, or write `scheme: hmac`.");
    } else if (here.given("header")) {
        check_header(route.options.signature->header, "header", here);
    }
}

void check_tenant(const RouteConfiguration& route, const HttpConfiguration& http,
                  const Section& at) {
    const TenantSource& tenant = route.options.tenant;
    if (at.given("tenant.header") && at.given("tenant.claim")) {
        at.error("tenant.claim", "The tenant is in a header or in a claim. Keep one.");
    }
    const bool token = needs_token(http, route);
    switch (tenant.kind) {
        case TenantSource::Kind::none:
            if (!token || route.options.key.use == KeyUse::forbidden) return;
            at.warning("",
                       "All clients with a token share their keys: one client could get the answer "
                       "to another's request. Write `tenant: {claim: sub}`, or the claim that says "
                       "whose keys they are.");
            return;
        case TenantSource::Kind::header: return check_header(tenant.name, "tenant.header", at);
        case TenantSource::Kind::claim:
            if (token || !at.top().known("http.tokens.jwks")) return;
            at.error("tenant.claim",
                     "There is no token to take it from. Write `http.tokens`, and `token: "
                     "required` here.");
            return;
    }
}

void check_minted(const RouteOptions& route, const Section& at) {
    using Kind = MintedSource::Kind;
    const Kind kind = route.minted_at.kind;
    if (kind == Kind::none) return;
    const std::string option = "key.minted_at";
    at.check({
        {!at.given("sink") && !at.given("upstream"), option,
         "The topic's own `key.minted_at` decides. Remove it, and forward the time's header."},
        {route.key.use == KeyUse::forbidden, option,
         "With `key.use: forbidden` there is no key. Remove it."},
        {kind == Kind::field && !route.minted_at.name.starts_with('/'), option,
         "A place in the body begins with `/`, such as `/created`."},
    });
    if (kind == Kind::header) check_header(route.minted_at.name, option, at);
}

// A header that the front door adds to the answers of a route.
void check_added_header(const RouteConfiguration& route, const std::string& option,
                        const std::string& name, const Section& at) {
    if (!at.given(option)) return;
    check_header(name, option, at);
    const bool taken = is_never_stored(name) || same_header(name, route.options.key.header) ||
                       same_header(name, "Date") || same_header(name, "Retry-After") ||
                       same_header(name.substr(0, 8), "Content-");
    at.check({
        {taken, option,
         "`" + name + "` has another meaning in an answer. Write a name of its own."},
        {route.bulk, option,
         "In bulk the items have no headers. Remove it, or write `body: item`."},
    });
}

void check_key(const RouteOptions& route, const Section& at) {
    check_header(route.key.header, "key.header", at);
    check_minted(route, at);
    const bool in_body = !route.key_field.empty();
    const std::string& method = route.pattern.method;
    if (route.key.use == KeyUse::required && (method == "GET" || method == "HEAD")) {
        at.warning("key.use",
                   "Clients, browsers and caches send " + method +
                       " without a key, and each such request is refused with 400. Write `key: "
                       "{use: forbidden}`, or another method if the request changes something.");
    }
    at.check({
        {route.key.length_min > route.key.length_max, "key.length_min",
         "`length_min` is above `length_max`, so no key fits."},
        {in_body && !route.key_field.starts_with('/'), "key.field",
         "A place in the body begins with `/`, such as `/id`."},
        {in_body && route.key.use == KeyUse::forbidden, "key.field",
         "With `use: forbidden` there is no key. Keep one of the two."},
    });
}

void check_status_path(const RouteOptions& route, const Section& at) {
    if (!at.given("status_path")) return;
    if (!at.given("sink") && !at.given("upstream")) {
        at.error(
            "status_path",
            "On a route to a topic the front door does not know what became of a key. Remove it.");
        return;
    }
    const std::string fault = fault_of({"GET", route.status_path});
    at.check({
        {!fault.empty(), "status_path",
         "`" + route.status_path + "` is not a path: " + fault + "."},
        {route.signature.has_value(), "status_path",
         "A sender of signed events does not sign status requests. Remove it."},
        {route.key.use == KeyUse::forbidden, "status_path",
         "With `key.use: forbidden` there is no key to ask for. Remove it."},
    });
}

void check_route(const RouteConfiguration& route, const HttpConfiguration& http,
                 const Section& at) {
    const RoutePattern& pattern = route.options.pattern;
    const std::string fault = fault_of(pattern);
    const bool no_key_set = http.jwks.empty() && at.top().known("http.tokens.jwks");
    at.check({
        {!fault.empty() && !pattern.method.empty() && !pattern.path.empty(), "path",
         "`" + operation_of(pattern) + "` is not a route: " + fault + "."},
        {route.token == RouteConfiguration::Token::required && no_key_set, "token",
         "There is no key set to verify a token with. Write `http.tokens.jwks`."},
    });
    for (const std::string& name : route.topic.forwarded) {
        check_header(name, "forward_headers", at);
        if (!is_own_header(name)) continue;
        at.error("forward_headers", "`" + name +
                                        "` is one of Onceward's own headers in the record: a "
                                        "client could choose its tenant or its key. Remove it.");
    }
    check_key(route.options, at);
    check_added_header(route, "replay_header", route.options.replay_header, at);
    check_added_header(route, "window_header", route.options.window_header, at);
    check_status_path(route.options, at);
    check_tenant(route, http, at);
    check_signature(route, at);
    const std::string no_rate = "This does nothing without a rate. Write `rate.";
    at.check({
        {route.tenant_rate.burst > 0 && route.tenant_rate.per_second == 0, "rate.tenant_burst",
         no_rate + "tenant` too."},
        {route.key_rate.burst > 0 && route.key_rate.per_second == 0, "rate.key_burst",
         no_rate + "key` too."},
    });
}

// No header that a client can send contains braces: no request would ever have the value.
void check_parts_of_path(const RouteConfiguration& route, const std::vector<ColumnOptions>& columns,
                         const std::string& option, const Section& at) {
    if (!at.known("path")) return;
    const std::string& pattern = route.options.pattern.path;
    for (const ColumnOptions& column : columns) {
        const std::string& part = column.source.text;
        if (column.source.kind != FieldSource::Kind::header || !part.starts_with('{')) continue;
        if ((pattern + "/").find("/" + part + "/") != std::string::npos) continue;
        at.error(option + "." + column.name,
                 "The path `" + pattern + "` has no `" + part +
                     "`. Write it there as a whole part, or name a header.");
    }
}

void check_parts_of_path(const RouteConfiguration& route, const TopicConfiguration& message,
                         const Section& at) {
    check_parts_of_path(route, columns_of(message), "sink.columns", at);
    for (const OutboxOptions* outbox : outboxes_of(message)) {
        const bool sink = outbox == std::get_if<OutboxOptions>(&message.sink);
        const std::string option = sink ? "sink.outbox" : "also_publish";
        check_parts_of_path(route, outbox->fields, option + ".fields", at);
        check_parts_of_path(route, outbox->headers, option + ".headers", at);
    }
}

void check_sink_route(const RouteConfiguration& route, const TopicConfiguration& message,
                      const LedgerOptions& ledger, const Section& at) {
    using Kind = MintedSource::Kind;
    const Kind minted = route.options.minted_at.kind;
    at.check({
        {minted != Kind::none && only_log(ledger), "key.minted_at",
         "A `log` does not know since when it remembers keys. Write `store: table`."},
        {route.bulk && (minted == Kind::header || minted == Kind::ce_time), "key.minted_at",
         "In bulk the items have one head. Write `uuid7`, or `{field: PATH}` of an item."},
        {at.given("forward_headers"), "forward_headers",
         "A sink's columns name the headers that they use. Remove it."},
        {ledger.reach == Reach::partition, "ledger.reach",
         "Requests come in no partitions. Write `reach: global`."},
        {route.bulk && !route.options.key_field.empty(), "key.field",
         "In bulk each item has its `key`. Remove it, or write `body: item`."},
    });
    check_kept_headers(message.answers.limits, at);
    check_parts_of_path(route, message, at);
    check_message_of_route(message, ledger, at);
}

// Checks the routes and the paths where a key's status is queried.
void check_ambiguity(const HttpConfiguration& http, Report& report) {
    std::vector<std::pair<RoutePattern, int>> taken;  // each with its line
    const auto take = [&](RoutePattern pattern, const std::string& path, int line) {
        if (!fault_of(pattern).empty()) return;
        for (const auto& [other, its_line] : taken) {
            if (!ambiguous(other, pattern)) continue;
            report.error_at(path, "`" + operation_of(pattern) +
                                      "` takes the same requests as a route in line " +
                                      std::to_string(its_line) + ". Keep one of them.");
        }
        taken.emplace_back(std::move(pattern), line);
    };
    for (const RouteConfiguration& route : http.routes) {
        take(route.options.pattern, route.path + ".path", route.mark.line);
        if (route.options.status_path.empty()) continue;
        take({"GET", route.options.status_path}, route.path + ".status_path", route.mark.line);
    }
}

void check_target(const Configuration& configuration, std::size_t place, const Section& at) {
    const RouteConfiguration& route = configuration.http.routes[place];
    const bool to_topic = !route.topic.topic.empty();
    for (const auto* routes : {&configuration.route_sinks, &configuration.route_upstreams}) {
        const auto message = routes->find(place);
        if (message == routes->end()) continue;
        check_fingerprint_fields(message->second, "fingerprint", "request", at);
    }
    if (const auto to = configuration.route_upstreams.find(place);
        to != configuration.route_upstreams.end()) {
        check_upstream_route(route, configuration.ledgers.at(to->second.ledger),
                             to->second.answers.limits, at);
        return;
    }
    if (const auto to = configuration.route_sinks.find(place);
        to != configuration.route_sinks.end()) {
        if (to_topic) {
            at.error("topic", "The route leads to a topic and to a sink. Keep one of them.");
        } else {
            check_sink_route(route, to->second, configuration.ledgers.at(to->second.ledger), at);
        }
        return;
    }
    if (!to_topic) {
        at.error("", "The route leads nowhere. Write `topic:`, `sink:` or `upstream:`.");
        return;
    }
    at.refuse(
        {"ledger", "format", "protobuf", "body", "wait", "fingerprint", "results", "also_publish",
         "replay_header"},
        "On a route to a topic the topic's consumer decides this. Remove it, or write `sink:` in "
        "place of `topic:`.");
}

}  // namespace

void check_kept_headers(const ResultLimits& limits, const Section& at) {
    for (const std::string& name : limits.headers) {
        if (!is_never_stored(name)) continue;
        at.error("results.headers", "`" + name +
                                        "` is never stored: it sets a cookie, is a credential, or "
                                        "belongs to one connection. Remove it.");
    }
}

void check_http(const Configuration& configuration, Report& report) {
    const HttpConfiguration& http = configuration.http;
    const Section at(report, "http");
    if (http.routes.empty()) {
        if (at.given() && at.known("routes")) {
            at.error("",
                     "A front door without routes has nothing to serve. Write `routes:`, and below "
                     "it `- method: ...` for each.");
        }
        return;
    }
    check_front_door(configuration, at);
    for (std::size_t place = 0; place < http.routes.size(); ++place) {
        const Section route(report, http.routes[place].path);
        check_route(http.routes[place], http, route);
        check_target(configuration, place, route);
    }
    check_ambiguity(http, report);
}

}  // namespace onceward
