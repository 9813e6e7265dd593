#include <map>
#include <nlohmann/json.hpp>

#include "gateway/describe.h"
#include "gateway/http.h"
#include "gateway/problem.h"

namespace onceward {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson text_schema() { return {{"type", "string"}}; }

OrderedJson parameter(const std::string& name, const char* in, bool required,
                      const std::string& meaning, OrderedJson schema) {
    return {{"name", name},
            {"in", in},
            {"required", required},
            {"description", meaning},
            {"schema", std::move(schema)}};
}

OrderedJson key_schema(const KeyHeaderOptions& key) {
    if (key.uuid && key.format == KeyFormat::plain) {
        return {{"type", "string"}, {"format", "uuid"}};
    }
    // Quotes do not count, and may be there.
    const std::size_t quotes = key.format == KeyFormat::plain ? 0 : 2;
    return {
        {"type", "string"}, {"minLength", key.length_min}, {"maxLength", key.length_max + quotes}};
}

OrderedJson parameters_of(const RouteOptions& route) {
    OrderedJson parameters = OrderedJson::array();
    std::string_view rest = route.pattern.path;
    while (rest.find('{') != std::string_view::npos) {
        rest.remove_prefix(rest.find('{') + 1);
        parameters.push_back(parameter(std::string(rest.substr(0, rest.find('}'))), "path", true,
                                       "Part of the path.", text_schema()));
    }
    if (route.key_field.empty() && route.key.use != KeyUse::forbidden) {
        parameters.push_back(
            parameter(route.key.header, "header", route.key.use == KeyUse::required,
                      "Minted by the client, once for each operation, and kept over its retries.",
                      key_schema(route.key)));
    }
    if (route.tenant.kind == TenantSource::Kind::header) {
        parameters.push_back(parameter(route.tenant.name, "header", true,
                                       "The tenant within which the key is unique.",
                                       text_schema()));
    }
    return parameters;
}

OrderedJson problem_response(int status, const std::vector<ProblemKind>& kinds) {
    std::string meaning;
    OrderedJson types = OrderedJson::array();
    for (const ProblemKind kind : kinds) {
        meaning += (meaning.empty() ? "" : "; ") + std::string(title_of(kind));
        types.push_back(type_of(kind));
    }
    OrderedJson any_problem;
    any_problem["$ref"] = "#/components/schemas/Problem";
    OrderedJson these_types;
    these_types["properties"]["type"]["enum"] = types;
    OrderedJson response;
    response["description"] = meaning + ".";
    response["content"]["application/problem+json"]["schema"]["allOf"] =
        OrderedJson::array({any_problem, these_types});
    if (status == 409 || status == 429 || status >= 502) {
        response["headers"] = {{"Retry-After",
                                {{"description", "Seconds until it is worth asking again."},
                                 {"schema", {{"type", "integer"}, {"minimum", 1}}}}}};
    }
    return response;
}

bool may_meet(ProblemKind kind, const RouteOptions& route) {
    const bool upstream = std::holds_alternative<UpstreamTarget>(route.target);
    const bool sink = upstream || std::holds_alternative<SinkTarget>(route.target);
    const bool keyed = route.key.use != KeyUse::forbidden;
    switch (kind) {
        case ProblemKind::not_found:
        case ProblemKind::key_unknown:
        case ProblemKind::method_not_allowed: return false;
        case ProblemKind::key_missing: return keyed && route.key.use == KeyUse::required;
        case ProblemKind::key_malformed: return keyed;
        case ProblemKind::key_not_expected: return !keyed;
        case ProblemKind::tenant_missing: return route.tenant.kind != TenantSource::Kind::none;
        case ProblemKind::token_missing:
        case ProblemKind::token_refused: return route.token;
        case ProblemKind::signature_refused: return route.signature.has_value();
        case ProblemKind::answer_gone:
        case ProblemKind::key_in_flight: return sink && keyed;
        case ProblemKind::key_reused: return sink && keyed && route.fingerprint;
        case ProblemKind::rejected: return sink && !upstream;
        case ProblemKind::outcome_unknown:
            return upstream && !std::get<UpstreamTarget>(route.target).honours_key;
        case ProblemKind::upstream_unreachable:
        case ProblemKind::upstream_unanswered: return upstream;
        case ProblemKind::too_many_requests: return route.tenant_rate || route.key_rate;
        case ProblemKind::malformed_request:
        case ProblemKind::request_timeout:
        case ProblemKind::body_too_large:
        case ProblemKind::headers_too_large:
        case ProblemKind::unavailable:
        case ProblemKind::internal: return true;
    }
    return true;
}

OrderedJson success(const RouteOptions& route) {
    if (std::holds_alternative<TopicTarget>(route.target)) {
        return {{"202", {{"description", "The log has the event."}}}};
    }
    const auto* sink = std::get_if<SinkTarget>(&route.target);
    const bool bulk = sink != nullptr && sink->bulk;
    const OrderedJson replayed = {
        {"Idempotent-Replayed",
         {{"description", "`true` where this is the first attempt's answer again."},
          {"schema", {{"type", "string"}, {"enum", OrderedJson::array({"true"})}}}}}};
    return {{bulk ? "207" : "2XX",
             {{"description", bulk ? "An answer for each item." : "The operation's own answer."},
              {"headers", replayed}}}};
}

OrderedJson operation(const RouteContract& contract) {
    const RouteOptions& route = contract.route;
    OrderedJson responses = success(route);
    std::map<int, std::vector<ProblemKind>> by_status;
    for (const ProblemKind kind : all_problems()) {
        if (may_meet(kind, route)) by_status[status_of(kind)].push_back(kind);
    }
    for (const auto& [status, kinds] : by_status) {
        responses[std::to_string(status)] = problem_response(status, kinds);
    }
    std::string meaning = "Takes effect at most once for each key.";
    if (!contract.ledger.empty()) {
        meaning += " A key is remembered for " + duration_words(contract.retention) + ".";
    }
    OrderedJson made = {{"operationId", operation_of(route.pattern)}, {"description", meaning}};
    const OrderedJson parameters = parameters_of(route);
    if (!parameters.empty()) made["parameters"] = parameters;
    if (route.token) {
        OrderedJson bearer;
        bearer["bearer"] = OrderedJson::array();
        made["security"] = OrderedJson::array({bearer});
    }
    made["responses"] = responses;
    return made;
}

OrderedJson status_schema(const RouteOptions& route) {
    OrderedJson states = OrderedJson::array({"in-flight", "completed"});
    OrderedJson properties;
    properties["state"] = {{"type", "string"}};
    properties["status"] = {{"type", "integer"}, {"description", "Of the stored answer."}};
    if (std::holds_alternative<UpstreamTarget>(route.target)) {
        states.push_back("outcome-unknown");
        properties["retry_after"] = {
            {"type", "integer"},
            {"minimum", 1},
            {"description", "In flight: seconds until its lease ends, unless it is extended."}};
    }
    properties["state"]["enum"] = states;
    return {{"type", "object"},
            {"properties", properties},
            {"required", OrderedJson::array({"state"})}};
}

// What became of a key, for its owner.
OrderedJson status_operation(const RouteContract& contract) {
    RouteOptions route = contract.route;
    route.pattern = {"GET", route.status_path};
    route.key_field.clear();
    route.key.use = KeyUse::required;
    OrderedJson known;
    known["description"] = "The request is being carried out, or was.";
    known["content"]["application/json"]["schema"] = status_schema(route);
    OrderedJson responses = {{"200", known}};
    responses["404"] = problem_response(404, {ProblemKind::key_unknown});
    if (std::holds_alternative<SinkTarget>(contract.route.target)) {
        responses["410"] = problem_response(410, {ProblemKind::answer_gone});
    }
    responses["503"] = problem_response(503, {ProblemKind::unavailable});
    OrderedJson made = {
        {"operationId", operation_of(route.pattern)},
        {"description", "What became of a key of `" + operation_of(contract.route.pattern) + "`."},
        {"parameters", parameters_of(route)}};
    if (route.token) {
        OrderedJson bearer;
        bearer["bearer"] = OrderedJson::array();
        made["security"] = OrderedJson::array({bearer});
    }
    made["responses"] = responses;
    return made;
}

OrderedJson problem_schema() {
    return {{"type", "object"},
            {"description", "RFC 9457."},
            {"properties",
             {{"type", {{"type", "string"}, {"format", "uri"}}},
              {"title", text_schema()},
              {"status", {{"type", "integer"}}},
              {"detail", text_schema()}}},
            {"required", {"type", "title", "status"}}};
}

}  // namespace

std::string open_api(const Contract& contract) {
    OrderedJson paths = OrderedJson::object();
    bool tokens = false;
    for (const RouteContract& route : contract.routes) {
        paths[route.route.pattern.path][lower_case(route.route.pattern.method)] = operation(route);
        if (!route.route.status_path.empty()) {
            paths[route.route.status_path]["get"] = status_operation(route);
        }
        tokens = tokens || route.route.token;
    }
    OrderedJson components = {{"schemas", {{"Problem", problem_schema()}}}};
    if (tokens) {
        components["securitySchemes"] = {
            {"bearer", {{"type", "http"}, {"scheme", "bearer"}, {"bearerFormat", "JWT"}}}};
    }
    const OrderedJson document = {
        {"openapi", "3.1.0"},
        {"info", {{"title", contract.title}, {"version", contract.version}}},
        {"paths", paths},
        {"components", components}};
    return document.dump(2) + "\n";
}

}  // namespace onceward
