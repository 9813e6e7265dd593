#include "gateway/contract/open_api_responses.h"

#include <algorithm>
#include <array>
#include <map>

#include "gateway/http/problem.h"

namespace onceward {
namespace {

using ResponseTree = nlohmann::ordered_json;

bool may_meet(ProblemKind kind, const RouteOptions& route) {
    const bool upstream = std::holds_alternative<UpstreamTarget>(route.target);
    const bool sink = upstream || std::holds_alternative<SinkTarget>(route.target);
    // The items of a bulk have their problems in the 207.
    const bool keyed = route.key.use != KeyUse::forbidden && !takes_bulk(route);
    switch (kind) {
        case ProblemKind::not_found:
        case ProblemKind::key_unknown:
        case ProblemKind::method_not_allowed:
        // A client that is generated from this description never sends what these refuse.
        case ProblemKind::coding_unknown:
        case ProblemKind::version_unknown: return false;
        case ProblemKind::key_missing: return keyed && route.key.use == KeyUse::required;
        case ProblemKind::key_malformed: return keyed;
        case ProblemKind::key_not_expected: return !keyed;
        case ProblemKind::tenant_missing: return route.tenant.kind != TenantSource::Kind::none;
        case ProblemKind::token_missing:
        case ProblemKind::token_refused: return route.token;
        case ProblemKind::signature_refused: return route.signature.has_value();
        case ProblemKind::key_expired:
            return sink && keyed && route.minted_at.kind != MintedSource::Kind::none;
        case ProblemKind::answer_gone:
        case ProblemKind::key_in_flight: return sink && keyed;
        case ProblemKind::key_reused: return sink && keyed && route.fingerprint;
        case ProblemKind::rejected: return sink && !upstream && !takes_bulk(route);
        case ProblemKind::outcome_unknown:
            return upstream && !std::get<UpstreamTarget>(route.target).honours_key;
        case ProblemKind::upstream_unreachable:
        case ProblemKind::upstream_unanswered: return upstream;
        case ProblemKind::too_many_requests:
            return route.tenant_rate || (route.key_rate && !takes_bulk(route));
        case ProblemKind::malformed_request:
        case ProblemKind::request_timeout:
        case ProblemKind::body_too_large:
        case ProblemKind::headers_too_large:
        case ProblemKind::unavailable:
        case ProblemKind::internal: return true;
    }
    return true;
}

// For a bulk: an answer for each item.
ResponseTree answers_schema() {
    const ResponseTree text = {{"type", "string"}};
    ResponseTree answer = {
        {"type", "object"},
        {"properties",
         {{"key", text},
          {"status", {{"type", "integer"}}},
          {"replayed", {{"type", "boolean"}}},
          {"type", {{"type", "string"}, {"description", "The body's media type."}}},
          {"body", {{"description", "The item's answer; a problem if it was refused."}}},
          {"body_left_out",
           {{"type", "boolean"},
            {"description", "`true` if the item has a body that did not fit into this answer."}}}}},
        {"required", {"status"}}};
    return {{"type", "array"}, {"items", std::move(answer)}};
}

ResponseTree success(const RouteOptions& route) {
    if (std::holds_alternative<TopicTarget>(route.target)) {
        return {{"202", {{"description", "The log has the event."}}}};
    }
    if (takes_bulk(route)) {
        return {{"207",
                 {{"description", "An answer for each item, in their order."},
                  {"content", {{"application/json", {{"schema", answers_schema()}}}}}}}};
    }
    ResponseTree replayed = {
        {route.replay_header,
         {{"description", "`true` if this is the first attempt's stored answer."},
          {"schema", {{"type", "string"}, {"enum", {"true"}}}}}}};
    if (!route.window_header.empty()) {
        replayed[route.window_header] = {
            {"description", "For how many seconds the key is known at least."},
            {"schema", {{"type", "integer"}}}};
    }
    const bool keyed = route.key.use != KeyUse::forbidden;
    ResponseTree own = {{"2XX", {{"description", "The operation's own answer."}}}};
    if (keyed) own["2XX"]["headers"] = replayed;
    if (std::holds_alternative<UpstreamTarget>(route.target)) {
        own["default"]["description"] =
            "The upstream's own answer: 3xx and most 4xx are final and stored, 5xx, 408, 425 and "
            "429 are not. A 5xx may come after an effect.";
    }
    if (const auto* sink = std::get_if<SinkTarget>(&route.target); sink && sink->function) {
        own["default"]["description"] =
            "The function's own answer, with the status that it gave: stored like any other.";
        if (keyed) own["default"]["headers"] = replayed;
    }
    return own;
}

// Whether a status query on this route can get this problem: those raised before the target is
// reached, plus the two that only status queries raise.
bool may_meet_asking(ProblemKind kind, const RouteOptions& route) {
    using enum ProblemKind;
    if (kind == key_unknown || kind == answer_gone) return true;
    constexpr std::array before{malformed_request, key_missing,       key_malformed,
                                tenant_missing,    token_missing,     token_refused,
                                request_timeout,   too_many_requests, headers_too_large,
                                unavailable,       internal};
    return std::ranges::find(before, kind) != before.end() && may_meet(kind, route);
}

// The response that these problems share.
ResponseTree problem_response(int status, const std::vector<ProblemKind>& kinds) {
    std::string meaning;
    ResponseTree types = ResponseTree::array();
    for (const ProblemKind kind : kinds) {
        meaning += (meaning.empty() ? "" : "; ") + std::string(title_of(kind));
        types.push_back(type_of(kind));
    }
    const ResponseTree any_problem = {{"$ref", "#/components/schemas/Problem"}};
    const ResponseTree these_types = {{"properties", {{"type", {{"enum", types}}}}}};
    const ResponseTree schema = {{"allOf", {any_problem, these_types}}};
    ResponseTree response = {{"description", meaning + "."},
                             {"content", {{"application/problem+json", {{"schema", schema}}}}}};
    if (status == 409 || status == 429 || status >= 502) {
        response["headers"] = {{"Retry-After",
                                {{"description", "Seconds to wait before asking again."},
                                 {"schema", {{"type", "integer"}, {"minimum", 1}}}}}};
    }
    return response;
}

void add_problems(const RouteOptions& route, bool (*may)(ProblemKind, const RouteOptions&),
                  ResponseTree& responses) {
    std::map<int, std::vector<ProblemKind>> by_status;
    for (const ProblemKind kind : all_problems()) {
        if (may(kind, route)) by_status[status_of(kind)].push_back(kind);
    }
    for (const auto& [status, kinds] : by_status) {
        responses[std::to_string(status)] = problem_response(status, kinds);
    }
}

}  // namespace

nlohmann::ordered_json responses_of(const RouteOptions& route) {
    ResponseTree responses = success(route);
    add_problems(route, may_meet, responses);
    return responses;
}

nlohmann::ordered_json status_problems_of(const RouteOptions& route) {
    ResponseTree responses = ResponseTree::object();
    add_problems(route, may_meet_asking, responses);
    return responses;
}

}  // namespace onceward
