#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "dedup/base/text.h"
#include "gateway/contract/open_api_responses.h"
#include "gateway/requests/bulk_request.h"

namespace onceward {
namespace {

using OrderedJson = nlohmann::ordered_json;

char capital(char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); }

constexpr std::size_t uuid_length = 36;

OrderedJson text_schema() { return {{"type", "string"}}; }

OrderedJson parameter(const std::string& name, const char* in, bool required,
                      const std::string& meaning, OrderedJson schema = text_schema()) {
    return {{"name", name},
            {"in", in},
            {"required", required},
            {"description", meaning},
            {"schema", std::move(schema)}};
}

OrderedJson key_schema(const KeyHeaderOptions& key) {
    // Quotes are not part of the key. The format requires, allows or forbids them.
    const std::size_t least_quotes = key.format == KeyFormat::structured ? 2 : 0;
    const std::size_t most_quotes = key.format == KeyFormat::plain ? 0 : 2;
    const std::size_t least = key.uuid ? uuid_length : key.length_min;
    const std::size_t most = key.uuid ? uuid_length : key.length_max;
    // In quotes each character of another key may need a backslash.
    const std::size_t written = key.uuid || most_quotes == 0 ? most : 2 * most;
    OrderedJson schema = {{"type", "string"},
                          {"minLength", least + least_quotes},
                          {"maxLength", written + most_quotes}};
    if (key.uuid && least_quotes == 0) schema["format"] = "uuid";
    return schema;
}

OrderedJson parameters_of(const RouteOptions& route) {
    OrderedJson parameters = OrderedJson::array();
    std::string_view rest = route.pattern.path;
    while (rest.find('{') != std::string_view::npos) {
        rest.remove_prefix(rest.find('{') + 1);
        parameters.push_back(parameter(std::string(rest.substr(0, rest.find('}'))), "path", true,
                                       "Part of the path."));
    }
    if (route.key_field.empty() && route.key.use != KeyUse::forbidden && !takes_bulk(route)) {
        parameters.push_back(
            parameter(route.key.header, "header", route.key.use == KeyUse::required,
                      "Minted by the client, once for each operation, and kept over its retries.",
                      key_schema(route.key)));
    }
    if (route.tenant.kind == TenantSource::Kind::header) {
        parameters.push_back(parameter(route.tenant.name, "header", true,
                                       "The tenant within which the key is unique."));
    }
    if (!route.signature) return parameters;
    parameters.push_back(parameter(std::string(signature_header(*route.signature)), "header", true,
                                   "An HMAC-SHA256 over the raw body."));
    if (const std::string id(signed_id_header(*route.signature));
        !id.empty() && (!route.key_field.empty() || lower_case(route.key.header) != id)) {
        parameters.push_back(parameter(id, "header", true, "The event's id, which is signed."));
    }
    if (const std::string& time = signed_time_header(*route.signature); !time.empty()) {
        parameters.push_back(
            parameter(time, "header", true, "When it was signed, in seconds since 1970 UTC."));
    }
    return parameters;
}

bool takes_body(const RouteOptions& route) {
    if (!route.key_field.empty() || takes_bulk(route)) return true;
    const std::string& method = route.pattern.method;
    return method != "GET" && method != "HEAD" && method != "DELETE" && method != "OPTIONS" &&
           method != "TRACE";
}

OrderedJson items_schema(const KeyHeaderOptions& key) {
    OrderedJson text = text_schema();
    if (key.uuid) text["format"] = "uuid";
    text["minLength"] = key.uuid ? uuid_length : key.length_min;
    text["maxLength"] = key.uuid ? uuid_length : key.length_max;
    OrderedJson required = {"body"};
    if (key.use == KeyUse::required) required.push_back("key");
    const OrderedJson item = {
        {"type", "object"},
        {"properties", {{"key", text}, {"body", {{"description", "The operation's input."}}}}},
        {"required", required},
        {"additionalProperties", false}};
    return {{"type", "array"}, {"items", item}, {"minItems", 1}, {"maxItems", most_bulk_items}};
}

OrderedJson request_body(const RouteContract& contract) {
    const RouteOptions& route = contract.route;
    const bool field = !route.key_field.empty();
    // A key in the body is read only from JSON.
    const bool json = field || takes_bulk(route);
    const std::string type = json                         ? "application/json"
                             : contract.body_type.empty() ? "*/*"
                                                          : contract.body_type;
    OrderedJson body;
    body["required"] =
        (field && route.key.use == KeyUse::required) || takes_bulk(route) || type != "*/*";
    OrderedJson& content = body["content"][type] = OrderedJson::object();
    if (takes_bulk(route)) content["schema"] = items_schema(route.key);
    if (field) body["description"] = "The key is at " + route.key_field + ".";
    return body;
}

void add_token(const RouteOptions& route, OrderedJson& operation) {
    if (!route.token) return;
    operation["security"] = OrderedJson::array({{{"bearer", OrderedJson::array()}}});
}

OrderedJson sentences(const std::vector<ContractSentence>& lines) {
    OrderedJson made = OrderedJson::object();
    for (const ContractSentence& line : lines) {
        std::string name = line.name;
        std::ranges::replace(name, ' ', '_');
        made[name] = line.text;
    }
    return made;
}

// In the order of KeyFormat.
constexpr std::array format_names{"either", "structured", "plain"};

OrderedJson key_values(const RouteOptions& route) {
    const bool field = !route.key_field.empty();
    if (!field && route.key.use == KeyUse::forbidden) return nullptr;
    OrderedJson key;
    key["minted_by"] = field ? "sender" : "client";
    key["in"] = field ? "body" : takes_bulk(route) ? "item" : "header";
    key["name"] = field ? route.key_field : takes_bulk(route) ? "key" : route.key.header;
    key["required"] = route.key.use == KeyUse::required;
    if (!field && !takes_bulk(route)) {
        key["format"] = format_names.at(static_cast<std::size_t>(route.key.format));
    }
    if (route.key.uuid) {
        key["uuid"] = true;
    } else {
        key["bytes"] = {{"least", route.key.length_min}, {"most", route.key.length_max}};
    }
    return key;
}

OrderedJson tenant_values(const TenantSource& tenant) {
    switch (tenant.kind) {
        case TenantSource::Kind::none: return nullptr;
        case TenantSource::Kind::header: return {{"in", "header"}, {"name", tenant.name}};
        case TenantSource::Kind::claim: return {{"in", "token"}, {"name", tenant.name}};
    }
    return nullptr;
}

const char* target_name(const RouteTarget& target) {
    if (std::holds_alternative<TopicTarget>(target)) return "topic";
    return std::holds_alternative<UpstreamTarget>(target) ? "upstream" : "sink";
}

OrderedJson values_of_route(const RouteContract& contract) {
    const RouteOptions& route = contract.route;
    OrderedJson values;
    values["target"] = target_name(route.target);
    values["key"] = key_values(route);
    if (values["key"].is_null()) return values;
    values["operation"] = operation_of(route.pattern);
    values["tenant"] = tenant_values(route.tenant);
    if (std::holds_alternative<TopicTarget>(route.target)) return values;
    values["conflict"] = route.fingerprint;
    if (!route.fingerprint_fields.empty()) {
        values["fingerprint_fields"] = route.fingerprint_fields;
    }
    values["wait_milliseconds"] = route.wait.count();
    values["ledger"] = contract.ledger;
    values["retention_seconds"] = contract.retention.count();
    if (const auto* upstream = std::get_if<UpstreamTarget>(&route.target)) {
        const bool release = upstream->on_unknown == UpstreamTarget::OnUnknown::release;
        values["lease_seconds"] = contract.lease.count();
        values["downstream_key"] = "Idempotency-Key";
        values["honours_key"] = upstream->honours_key;
        values["on_unknown"] = release ? "release" : "hold";
    }
    return values;
}

// The extension `x-onceward`, which says what OpenAPI's own fields cannot say of a key: the
// sentences of the contract's text under their names, and under `values` what tools compare.
OrderedJson contract_object(const RouteContract& contract) {
    OrderedJson made = sentences(contract_sentences(contract));
    made["values"] = values_of_route(contract);
    return made;
}

OrderedJson operation(const RouteContract& contract) {
    const RouteOptions& route = contract.route;
    std::string meaning = promise_of(route) + ".";
    meaning.front() = capital(meaning.front());
    if (!contract.ledger.empty() && route.key.use != KeyUse::forbidden) {
        meaning += " A key is remembered for " + duration_words(contract.retention) + ".";
    }
    OrderedJson made = {{"operationId", operation_of(route.pattern)}, {"description", meaning}};
    const OrderedJson parameters = parameters_of(route);
    if (!parameters.empty()) made["parameters"] = parameters;
    if (takes_body(route)) made["requestBody"] = request_body(contract);
    add_token(route, made);
    made["responses"] = responses_of(route);
    made["x-onceward"] = contract_object(contract);
    return made;
}

OrderedJson status_schema(const RouteOptions& route) {
    OrderedJson states = {"in-flight", "completed"};
    OrderedJson properties = {
        {"state", text_schema()},
        {"status", {{"type", "integer"}, {"description", "The stored answer's status."}}}};
    if (std::holds_alternative<UpstreamTarget>(route.target)) {
        states.push_back("outcome-unknown");
        properties["retry_after"] = {
            {"type", "integer"},
            {"minimum", 1},
            {"description", "In flight: seconds until its lease ends, unless it is extended."}};
    }
    properties["state"]["enum"] = states;
    return {{"type", "object"}, {"properties", properties}, {"required", {"state"}}};
}

// What became of a key, for its owner.
OrderedJson status_operation(const RouteContract& contract) {
    RouteOptions route = contract.route;
    route.pattern = {"GET", route.status_path};
    route.key_field.clear();
    route.key.use = KeyUse::required;
    if (takes_bulk(route)) route.target = SinkTarget{};
    OrderedJson responses = {
        {"200",
         {{"description", "The request is under way, or was carried out."},
          {"content", {{"application/json", {{"schema", status_schema(route)}}}}}}}};
    responses.update(status_problems_of(route));
    OrderedJson made = {
        {"operationId", operation_of(route.pattern)},
        {"description", "The state of a key of `" + operation_of(contract.route.pattern) + "`."},
        {"parameters", parameters_of(route)}};
    add_token(route, made);
    made["responses"] = responses;
    return made;
}

OrderedJson problem_schema() {
    return {{"type", "object"},
            {"description", "RFC 9457."},
            {"properties",
             {{"type", {{"type", "string"}, {"format", "uri-reference"}}},
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
        {"x-onceward", sentences(common_lines(contract.server))},
        {"paths", paths},
        {"components", components}};
    return document.dump(2) + "\n";
}

}  // namespace onceward
