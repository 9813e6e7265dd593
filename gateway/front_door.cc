#include "gateway/front_door.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "dedup/base/trace_origin.h"
#include "dedup/base/types.h"
#include "dedup/sink/http_header_rules.h"
#include "gateway/request_visit.h"

namespace onceward {
namespace {

// The first header named in `Connection` that must reach the upstream (the tenant's, or a forwarded
// credential); empty if none is. Hop-by-hop removal would strip it, and the call would go out
// without an identity.
std::string kept_from_the_upstream(const HttpRequest& request, const RouteOptions& route) {
    const auto* upstream = std::get_if<UpstreamTarget>(&route.target);
    if (upstream == nullptr) return {};
    std::vector<std::string> needed = upstream->forwarded;
    if (route.tenant.kind == TenantSource::Kind::header) needed.push_back(route.tenant.name);
    const std::vector<std::string> hop = names_of_the_hop(request.headers);
    for (const std::string& name : needed) {
        const auto same = [&](const std::string& other) { return same_header(name, other); };
        if (std::ranges::any_of(hop, same)) return name;
    }
    return {};
}

// For a route with `key.field`.
KeyReading read_key_field(const HttpRequest& request, const RouteOptions& route) {
    if (!route.signature && !values_of(request.headers, route.key.header).empty()) {
        // The client expects this header to be its key. Providers, which sign, may send one anyway.
        return {.fault = KeyFault::not_expected};
    }
    BodyField field = field_of(request.body, route.key_field);
    if (!field.is_there) {
        if (route.key.use != KeyUse::required) return {};
        return {.fault = KeyFault::missing};
    }
    // DANGER: not an absent key. The request would be carried out each time that it is sent.
    if (!field.text) return {.fault = KeyFault::malformed};
    if (const auto fault = check_key_text(*field.text, route.key)) return {.fault = fault};
    return {.key = RequestKey{.text = canonical_key(std::move(*field.text), route.key),
                              .written = {}}};
}

template <class Visit, class Step>
void guarded(Visit& visit, Step step) try {
    step();
} catch (const std::exception& error) {
    log_error("http.internal", {{"error", error.what()}});
    visit.refuse({.kind = ProblemKind::internal});
}

}  // namespace

FrontDoor::FrontDoor(GatewayOptions options, Parts parts)
    : options_(std::move(options)), parts_(std::move(parts)), traffic_(options_) {
    const std::size_t names = options_.server.limits.rate_names;
    std::vector<RoutePattern> patterns;
    // The routes are followed by the paths where a key's status is queried.
    for (const bool asks_status : {false, true}) {
        for (std::size_t i = 0; i < options_.routes.size(); ++i) {
            const RouteOptions& route = options_.routes[i];
            if (asks_status && route.status_path.empty()) continue;
            auto made = std::make_unique<Route>(route, i);
            made->asks_status = asks_status;
            made->traffic = routes_.size();
            if (route.tenant_rate) made->tenants.emplace(*route.tenant_rate, names);
            if (route.key_rate) made->keys.emplace(*route.key_rate, names);
            patterns.push_back(made->pattern());
            routes_.push_back(std::move(made));
        }
    }
    table_ = RouteTable(patterns);
}

FrontDoor::~FrontDoor() = default;

void FrontDoor::handle(HttpRequest request, Answer answer) {
    const auto visit = std::make_shared<Visit>();
    visit->request = std::move(request);
    visit->answer = std::move(answer);
    visit->traffic = &traffic_;
    visit->access_log = options_.server.access_log;
    // Before the routes: a route with a parameter for each part would match these paths.
    if (auto page = problem_page(visit->request)) return visit->respond(std::move(*page));
    RouteTable::Match match = table_.match(visit->request.method, path_of(visit->request.target));
    switch (match.kind) {
        case RouteTable::Match::Kind::no_such_path:
            return visit->refuse({.kind = ProblemKind::not_found});
        case RouteTable::Match::Kind::other_method:
            return visit->refuse(
                {.kind = ProblemKind::method_not_allowed, .headers = {{"Allow", match.allow}}});
        case RouteTable::Match::Kind::found: break;
    }
    visit->route = routes_[match.route].get();
    visit->parameters = std::move(match.parameters);
    if (parts_.tracer != nullptr) begin_trace(*visit);
    visit->under_way = traffic_.begin(visit->route->traffic);
    if (!visit->under_way) return refuse_as_full(*visit);
    guarded(*visit, [&] {
        // DANGER: check the signature before any of the body is parsed, or an unsigned body reaches
        // the parsers.
        if (check_signature(*visit)) check_token(visit);
    });
}

// A request whose trace is recorded carries the context of its span from here on, as if its client
// had sent that: records, rows and calls continue it.
void FrontDoor::begin_trace(Visit& visit) const {
    HttpHeaders& headers = visit.request.headers;
    const auto came = only_value(headers, traceparent_header);
    const auto parent = came ? parse_traceparent(*came) : std::nullopt;
    const auto root = parent ? std::nullopt : parts_.tracer->root();
    if (parent ? !parent->sampled : !root) return;
    const std::string method = visit.request.method;
    const RoutePattern pattern = visit.route->pattern();
    TraceSpan span{.name = method + " " + pattern.path, .kind = SpanKind::server};
    span.context = parent ? child_of(*parent) : *root;
    if (parent) {
        span.parent = parent->span;
        const auto state = only_value(headers, tracestate_header);
        if (state && valid_tracestate(*state)) span.tracestate = *state;
    }
    span.add("http.request.method", method);
    span.add("http.route", pattern.path);
    std::erase_if(headers, [&](const auto& header) {
        return same_header(header.first, traceparent_header) ||
               same_header(header.first, tracestate_header);
    });
    headers.emplace_back(traceparent_header, to_traceparent(span.context));
    headers.emplace_back(tracestate_header,
                         with_origin(span.tracestate, parent ? parent->span : span.context.span));
    visit.tracer = parts_.tracer;
    visit.span = std::move(span);
}

// Refuses at once: one slow target must not take the connections of all routes.
void FrontDoor::refuse_as_full(Visit& visit) {
    if (const auto kept_back = visit.route->full_lines.pass()) {
        log_warning("http.route_full",
                    {{"route", operation_of(visit.route->pattern())}, {"kept_back", *kept_back}});
    }
    Problem problem = ask_again_soon();
    problem.detail = "Too many requests of this operation are under way; nothing was carried out.";
    visit.refuse(problem);
}

void FrontDoor::refused_by_server(int status) {
    const HttpResponse response{.status = status};
    traffic_.count(std::nullopt, response, {});
    if (!options_.server.access_log) return;
    log_info("http.request", {{"route", ""}, {"status", status}});
}

bool FrontDoor::check_signature(Visit& visit) const {
    if (!visit.options().signature) return true;
    const SignatureVerdict verdict =
        verify_signature(*visit.options().signature, visit.request.headers, visit.request.body,
                         since_1970<std::chrono::seconds>());
    if (verdict == SignatureVerdict::good) return true;
    static constexpr std::array<const char*, 5> details{
        "", "There is no signature.", "The signature is not well formed.",
        "The timestamp of the signature is outside the tolerance.", "The signature is wrong."};
    const std::string detail = details.at(static_cast<std::size_t>(verdict));
    // RFC 9110, 15.5.2: a 401 has a challenge. No scheme is registered for signatures of a body.
    visit.unauthorized({.kind = ProblemKind::signature_refused,
                        .detail = detail,
                        .headers = {{"WWW-Authenticate", "Signature"}}},
                       detail);
    return false;
}

void FrontDoor::check_token(const VisitPointer& visit,
                            std::optional<std::chrono::milliseconds> left) {
    if (!visit->options().token) return continue_checked(visit);
    const auto authorization = only_value(visit->request.headers, "Authorization");
    const auto token = authorization ? bearer_token(*authorization) : std::nullopt;
    if (!token) {
        return visit->unauthorized(
            {.kind = ProblemKind::token_missing, .headers = {{"WWW-Authenticate", "Bearer"}}},
            "There is no bearer token.");
    }
    const std::shared_ptr<const KeySet> keys = parts_.keys->current();
    TokenReading reading;
    if (keys) {
        reading = read_token(*token, *keys, *options_.tokens, since_1970<std::chrono::seconds>());
    }
    const bool wanting = !keys || reading.fault == TokenFault::unknown_key;
    if (wanting && !left) {
        return parts_.keys->refreshed([this, visit](std::chrono::milliseconds pause) {
            guarded(*visit, [&] { check_token(visit, pause); });
        });
    }
    if (!keys) {
        return visit->refuse({.kind = ProblemKind::unavailable,
                              .detail = "The keys that verify tokens are not available yet.",
                              .retry_after = std::chrono::seconds(10)});
    }
    // A client takes a 401 as final, although its token may be good: the issuer was not asked.
    if (reading.fault == TokenFault::unknown_key && parts_.keys->outdated()) {
        return visit->refuse({.kind = ProblemKind::unavailable,
                              .detail = "The token's key is not known, and the issuer's keys "
                                        "cannot be fetched now.",
                              .retry_after = std::chrono::seconds(10)});
    }
    if (reading.fault == TokenFault::unknown_key && left->count() > 0) {
        return visit->refuse({.kind = ProblemKind::unavailable,
                              .detail = "The token's key is not known. The issuer's keys were "
                                        "fetched a moment ago and will be fetched again.",
                              .retry_after = std::chrono::ceil<std::chrono::seconds>(*left)});
    }
    if (reading.fault) {
        return visit->unauthorized(
            {.kind = ProblemKind::token_refused,
             .detail = "The token is not accepted: " + std::string(to_text(*reading.fault)) + ".",
             .headers = {{"WWW-Authenticate", "Bearer error=\"invalid_token\""}}},
            to_text(*reading.fault));
    }
    visit->claims = std::move(reading.claims);
    continue_checked(visit);
}

void FrontDoor::continue_checked(const VisitPointer& visit) {
    const std::string kept = kept_from_the_upstream(visit->request, visit->options());
    if (!kept.empty()) {
        return visit->refuse(
            {.kind = ProblemKind::malformed_request,
             .detail = "Connection names " + kept + ", which has to reach the upstream."});
    }
    if (!read_tenant(*visit) || !read_key(*visit) || !within_rates(*visit)) return;
    if (visit->route->asks_status) {
        to_status(visit);
    } else if (const auto* topic = std::get_if<TopicTarget>(&visit->options().target)) {
        to_topic(visit, *topic);
    } else if (takes_bulk(visit->options())) {
        to_sink_in_bulk(visit);
    } else {
        submit(visit);
    }
}

bool FrontDoor::read_tenant(Visit& visit) const {
    const TenantSource& source = visit.options().tenant;
    if (source.kind == TenantSource::Kind::none) return true;
    const bool header = source.kind == TenantSource::Kind::header;
    if (header) {
        visit.tenant = only_value(visit.request.headers, source.name).value_or("");
    } else if (const auto found = visit.claims.find(source.name); found != visit.claims.end()) {
        visit.tenant = found->second;
    }
    // A tenant that is absent is not ''.
    if (!visit.tenant.empty()) return true;
    visit.refuse(
        {.kind = ProblemKind::tenant_missing,
         .detail = (header ? "This operation needs the header " : "The token lacks the claim ") +
                   source.name + "."});
    return false;
}

bool FrontDoor::read_key(Visit& visit) const {
    const RouteOptions& options = visit.options();
    KeyHeaderOptions header = options.key;
    KeyPlace place;
    if (visit.route->asks_status) {
        header.use = KeyUse::required;
    } else if (takes_bulk(options)) {
        // Each item has its own.
        place.kind = KeyPlace::Kind::item;
        header.use = KeyUse::forbidden;
    } else if (!options.key_field.empty()) {
        place = {.kind = KeyPlace::Kind::field, .field = options.key_field};
    }
    KeyReading reading = place.kind == KeyPlace::Kind::field
                             ? read_key_field(visit.request, options)
                             : onceward::read_key(visit.request.headers, header);
    if (reading.fault) {
        visit.refuse({.kind = problem_of(*reading.fault),
                      .detail = describe(*reading.fault, options.key, place)});
        return false;
    }
    visit.key = std::move(reading.key);
    return true;
}

bool FrontDoor::within_rates(Visit& visit) {
    std::optional<std::chrono::seconds> wait;
    // The key first: a key that comes too often takes no token from its tenant.
    if (visit.key) wait = key_too_often(*visit.route, visit.tenant, visit.key->text);
    if (!wait) wait = tenant_too_often(*visit.route, visit.tenant);
    if (!wait) return true;
    visit.refuse({.kind = ProblemKind::too_many_requests, .retry_after = wait});
    return false;
}

std::optional<std::chrono::seconds> FrontDoor::tenant_too_often(Route& route,
                                                                const std::string& tenant) {
    if (!route.options.tenant_rate) return std::nullopt;
    const MutexLock lock(route.mutex);
    // A digest, not the text, which may be as long as a whole head.
    return route.tenants->take(bytes_of(digest_of_bytes(tenant)), TokenBuckets::Clock::now());
}

std::optional<std::chrono::seconds> FrontDoor::key_too_often(Route& route,
                                                             const std::string& tenant,
                                                             const std::string& key) {
    if (!route.options.key_rate) return std::nullopt;
    // The digest includes the tenant, because two tenants may use the same key.
    const Digest digest = request_digest(route.options, tenant, key);
    const MutexLock lock(route.mutex);
    return route.keys->take(bytes_of(digest), TokenBuckets::Clock::now());
}

}  // namespace onceward
