#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "cli/configuration/checks.h"
#include "dedup/sink/http_header_rules.h"
#include "sinks/webhook/rules.h"

namespace onceward {
namespace {

bool is_header_name(std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_';
    });
}

void check_header(const std::string& name, const std::string& path, Report& report) {
    if (is_header_name(name)) return;
    report.error_at(path, "`" + name +
                              "` is not a header's name. Write letters, digits and `-`, such as "
                              "`Idempotency-Key`.");
}

void check_file(const std::string& file, const std::string& path, Report& report) {
    std::error_code ignored;
    if (file.empty() || std::filesystem::is_regular_file(file, ignored)) return;
    report.error_at(path, "There is no file `" + file + "`. Write one that this program can read.");
}

// With its zone, `fe80::1%eth0`, where it has one.
bool is_ip_address(const std::string& host) {
    std::array<unsigned char, 16> bytes{};
    return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
           inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), bytes.data()) == 1;
}

void check_server(const HttpConfiguration& http, Report& report) {
    const std::optional<ListenAddress> address = parse_listen_address(http.listen_text);
    if (!address) {
        report.error_at("http.listen", "`" + http.listen_text +
                                           "` is not an address to listen at. Write "
                                           "`127.0.0.1:8080` or `[::1]:8080`.");
    } else if (!is_ip_address(address->host)) {
        report.error_at("http.listen",
                        "`" + address->host +
                            "` is a name, which may stand for several addresses. Write the one to "
                            "listen at, such as `127.0.0.1:8080` or `[::1]:8080`.");
    }
    const ServerOptions& server = http.server;
    if (server.certificate_file.empty() != server.key_file.empty()) {
        const bool key = server.key_file.empty();
        report.error_at(key ? "http.tls.certificate" : "http.tls.key",
                        "TLS needs a certificate and its key. Write `http.tls." +
                            std::string(key ? "key" : "certificate") + "` too.");
    }
    check_file(server.certificate_file, "http.tls.certificate", report);
    check_file(server.key_file, "http.tls.key", report);
}

bool is_this_machine(const std::string& host) {
    return host == "localhost" || host == "127.0.0.1" || host == "::1";
}

void check_tokens(const HttpConfiguration& http, Report& report) {
    check_file(http.jwks_ca_file, "http.tokens.ca_file", report);
    if (http.jwks.empty()) return;
    const std::string path = "http.tokens.jwks";
    const bool file = http.jwks.find("://") == std::string::npos;
    // By the host alone: 127.0.0.1 begins the names of other hosts as well.
    const std::optional<CallAddress> address = call_address(http.jwks);
    if (!file && !address) {
        report.error_at(path,
                        "This is not an address to fetch a key set from. Write an `https://` "
                        "address without a user, or a file.");
    } else if (!file && !address->tls && !is_this_machine(address->host)) {
        report.error_at(path,
                        "Anybody on the network path could replace the keys. Write an "
                        "`https://` address.");
    } else if (file) {
        check_file(http.jwks, path, report);
    }
    if (http.tokens.audiences.empty()) {
        report.warning_at(path,
                          "A token that was made for another service opens this one. Name "
                          "this one in `http.tokens.audiences`.");
    }
    if (http.tokens.issuer.empty()) {
        report.warning_at(path,
                          "A token of any issuer in the key set is accepted. Name one in "
                          "`http.tokens.issuer`.");
    }
}

void check_signature(const RouteConfiguration& route, Report& report) {
    const std::string path = route.path + ".signature";
    if (!route.options.signature) {
        for (const char* name : {"secret", "previous_secret", "header", "time_header"}) {
            if (!report.given(path + "." + name)) continue;
            report.error_at(path + "." + name,
                            "This does nothing without a scheme. Write `signature.scheme` too.");
        }
        return;
    }
    if (route.secret.empty() && report.known(path + ".secret")) {
        report.error_at(path + ".scheme",
                        "A signature is verified with a secret. Write "
                        "`signature.secret`, such as `${file:webhook.secret}`.");
    }
    if (route.options.signature->scheme == SignatureOptions::Scheme::hmac) {
        if (report.given(path + ".header")) {
            check_header(route.options.signature->header, path + ".header", report);
        }
        return;
    }
    for (const char* name : {"header", "time_header"}) {
        if (!report.given(path + "." + name)) continue;
        report.error_at(path + "." + name,
                        "This scheme has headers of its own. Remove it, or write `scheme: hmac`.");
    }
}

void check_tenant(const RouteConfiguration& route, const HttpConfiguration& http, Report& report) {
    const TenantSource& tenant = route.options.tenant;
    const std::string path = route.path + ".tenant";
    if (report.given(path + ".header") && report.given(path + ".claim")) {
        report.error_at(path + ".claim", "The tenant is in a header or in a claim. Keep one.");
    }
    switch (tenant.kind) {
        case TenantSource::Kind::none:
            if (needs_token(http, route) && route.options.key.use != KeyUse::forbidden) {
                report.warning_at(route.path,
                                  "All clients with a token share their keys: one client could get "
                                  "the answer to another's request. Write `tenant: {claim: sub}`, "
                                  "or the claim that says whose keys they are.");
            }
            break;
        case TenantSource::Kind::header: check_header(tenant.name, path + ".header", report); break;
        case TenantSource::Kind::claim:
            if (!needs_token(http, route) && report.known("http.tokens.jwks")) {
                report.error_at(path + ".claim",
                                "There is no token to take it from. Write "
                                "`http.tokens`, and `token: required` here.");
            }
            break;
    }
}

void check_key(const RouteConfiguration& route, Report& report) {
    const RouteOptions& options = route.options;
    const std::string path = route.path + ".key";
    check_header(options.key.header, path + ".header", report);
    if (options.key.length_min > options.key.length_max) {
        report.error_at(path + ".length_min", "`length_min` is above `length_max`, so no key "
                                              "fits.");
    }
    if (!options.key_field.empty() && !options.key_field.starts_with('/')) {
        report.error_at(path + ".field", "A place in the body begins with `/`, such as `/id`.");
    }
    if (!options.key_field.empty() && options.key.use == KeyUse::forbidden) {
        report.error_at(path + ".field",
                        "With `use: forbidden` there is no key. Keep one of the "
                        "two.");
    }
}

void check_status_path(const RouteConfiguration& route, Report& report) {
    const std::string path = route.path + ".status_path";
    if (!report.given(path)) return;
    if (!report.given(route.path + ".sink") && !report.given(route.path + ".upstream")) {
        report.error_at(path,
                        "On a route to a topic the front door does not know what became of a key. "
                        "Remove it.");
        return;
    }
    const std::string fault = fault_of({"GET", route.options.status_path});
    if (!fault.empty()) {
        report.error_at(path, "`" + route.options.status_path + "` is not a path: " + fault + ".");
    }
    if (route.options.signature) {
        report.error_at(path, "A sender of signed events does not sign status requests. Remove "
                              "it.");
    }
    if (route.options.key.use == KeyUse::forbidden) {
        report.error_at(path, "With `key.use: forbidden` there is no key to ask for. Remove it.");
    }
}

void check_rates(const RouteConfiguration& route, Report& report) {
    for (const auto& [rate, name] : {std::pair{route.tenant_rate, std::string("tenant")},
                                     std::pair{route.key_rate, std::string("key")}}) {
        if (rate.burst > 0 && rate.per_second == 0) {
            report.error_at(route.path + ".rate." + name + "_burst",
                            "This does nothing without a rate. Write `rate." + name + "` too.");
        }
    }
}

void check_route(const RouteConfiguration& route, const HttpConfiguration& http, Report& report) {
    const std::string fault = fault_of(route.options.pattern);
    if (!fault.empty() && !route.options.pattern.method.empty() &&
        !route.options.pattern.path.empty()) {
        report.error_at(route.path + ".path", "`" + operation_of(route.options.pattern) +
                                                  "` is not a route: " + fault + ".");
    }
    const bool no_key_set = http.jwks.empty() && report.known("http.tokens.jwks");
    if (route.token == RouteConfiguration::Token::required && no_key_set) {
        report.error_at(route.path + ".token",
                        "There is no key set to verify a token with. Write "
                        "`http.tokens.jwks`.");
    }
    for (const std::string& name : route.topic.forwarded) {
        check_header(name, route.path + ".forward_headers", report);
        if (!is_own_header(name)) continue;
        report.error_at(route.path + ".forward_headers",
                        "`" + name +
                            "` is one of Onceward's own headers in the record: a client could "
                            "choose its tenant or its key. Remove it.");
    }
    check_key(route, report);
    check_status_path(route, report);
    check_tenant(route, http, report);
    check_signature(route, report);
    check_rates(route, report);
}

void check_topic_route(const RouteConfiguration& route, Report& report) {
    for (const char* name : {"ledger", "format", "protobuf", "body", "wait", "fingerprint",
                             "results", "also_publish"}) {
        const std::string path = route.path + "." + name;
        if (!report.given(path)) continue;
        report.error_at(path,
                        "On a route to a topic the topic's consumer decides this. Remove it, or "
                        "write `sink:` in place of `topic:`.");
    }
}

// No header that a client can send contains braces: no request would ever have the value.
void check_parts_of_path(const RouteConfiguration& route, const std::vector<ColumnOptions>& columns,
                         const std::string& path, Report& report) {
    if (!report.known(route.path + ".path")) return;
    const std::string& pattern = route.options.pattern.path;
    for (const ColumnOptions& column : columns) {
        const std::string& part = column.source.text;
        if (column.source.kind != FieldSource::Kind::header || !part.starts_with('{')) continue;
        if ((pattern + "/").find("/" + part + "/") != std::string::npos) continue;
        report.error_at(path + "." + column.name,
                        "The path `" + pattern + "` has no `" + part +
                            "`. Write it there as a whole part, or name a header.");
    }
}

void check_parts_of_path(const RouteConfiguration& route, const TopicConfiguration& message,
                         Report& report) {
    const std::string columns = route.path + ".sink.columns";
    if (const auto* table = std::get_if<TableSinkOptions>(&message.sink)) {
        check_parts_of_path(route, table->columns, columns, report);
    }
    if (const auto* function = std::get_if<FunctionSinkOptions>(&message.sink)) {
        check_parts_of_path(route, function->columns, columns, report);
    }
    for (const OutboxOptions* outbox : outboxes_of(message)) {
        const bool sink = outbox == std::get_if<OutboxOptions>(&message.sink);
        const std::string path = route.path + (sink ? ".sink.outbox" : ".also_publish");
        check_parts_of_path(route, outbox->fields, path + ".fields", report);
        check_parts_of_path(route, outbox->headers, path + ".headers", report);
    }
}

void check_sink_route(const RouteConfiguration& route, const TopicConfiguration& message,
                      const LedgerOptions& ledger, Report& report) {
    if (report.given(route.path + ".forward_headers")) {
        report.error_at(route.path + ".forward_headers",
                        "A sink's columns name the headers that they use. Remove it.");
    }
    if (ledger.reach == Reach::partition) {
        report.error_at(route.path + ".ledger.reach",
                        "Requests come in no partitions. Write `reach: global`.");
    }
    if (route.bulk && !route.options.key_field.empty()) {
        report.error_at(route.path + ".key.field",
                        "In bulk each item has its `key`. Remove it, or write `body: item`.");
    }
    check_kept_headers(message.answers.limits, route.path, report);
    check_parts_of_path(route, message, report);
    check_message(message, ledger, route.path, report);
}

// Checks the routes and the paths where a key's status is queried.
void check_ambiguity(const HttpConfiguration& http, Report& report) {
    struct Taken {
        RoutePattern pattern;
        int line = 0;
    };
    std::vector<Taken> taken;
    const auto take = [&](RoutePattern pattern, const std::string& path, int line) {
        if (!fault_of(pattern).empty()) return;
        for (const Taken& other : taken) {
            if (!ambiguous(other.pattern, pattern)) continue;
            report.error_at(path, "`" + operation_of(pattern) +
                                      "` takes the same requests as a route in line " +
                                      std::to_string(other.line) + ". Keep one of them.");
        }
        taken.push_back({std::move(pattern), line});
    };
    for (const RouteConfiguration& route : http.routes) {
        take(route.options.pattern, route.path + ".path", route.mark.line);
        if (route.options.status_path.empty()) continue;
        take({"GET", route.options.status_path}, route.path + ".status_path", route.mark.line);
    }
}

void check_target(const Configuration& configuration, std::size_t place, Report& report) {
    const RouteConfiguration& route = configuration.http.routes[place];
    const auto sink = configuration.route_sinks.find(place);
    const bool to_sink = sink != configuration.route_sinks.end();
    const auto upstream = configuration.route_upstreams.find(place);
    if (upstream != configuration.route_upstreams.end()) {
        const TopicConfiguration& message = upstream->second;
        check_upstream_route(route, configuration.ledgers.at(message.ledger),
                             message.answers.limits, report);
    } else if (to_sink && !route.topic.topic.empty()) {
        report.error_at(route.path + ".topic",
                        "The route leads to a topic and to a sink. Keep one of them.");
    } else if (to_sink) {
        check_sink_route(route, sink->second, configuration.ledgers.at(sink->second.ledger),
                         report);
    } else if (route.topic.topic.empty()) {
        report.error_at(route.path,
                        "The route leads nowhere. Write `topic:`, `sink:` or "
                        "`upstream:`.");
    } else {
        check_topic_route(route, report);
    }
}

}  // namespace

void check_kept_headers(const ResultLimits& limits, const std::string& route_path, Report& report) {
    for (const std::string& name : limits.headers) {
        if (!is_never_stored(name)) continue;
        report.error_at(route_path + ".results.headers",
                        "`" + name +
                            "` is never stored: it sets a cookie, is a credential, or belongs to "
                            "one connection. Remove it.");
    }
}

void check_http(const Configuration& configuration, Report& report) {
    const HttpConfiguration& http = configuration.http;
    if (http.routes.empty()) {
        if (report.given("http") && report.known("http.routes")) {
            report.error_at("http",
                            "A front door without routes has nothing to serve. Write `routes:`, "
                            "and below it `- method: ...` for each.");
        }
        return;
    }
    check_server(http, report);
    check_tokens(http, report);
    for (std::size_t place = 0; place < http.routes.size(); ++place) {
        check_route(http.routes[place], http, report);
        check_target(configuration, place, report);
    }
    check_ambiguity(http, report);
}

}  // namespace onceward
