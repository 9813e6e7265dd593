#include <cctype>
#include <nlohmann/json.hpp>

#include "dedup/base/text.h"
#include "gateway/contract/contract_sentences.h"
#include "gateway/contract/describe.h"
#include "gateway/contract/open_api_contract.h"
#include "gateway/contract/open_api_responses.h"
#include "gateway/http/http.h"
#include "gateway/requests/bulk_request.h"

namespace onceward {
namespace {

using OrderedJson = nlohmann::ordered_json;

char capital(char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); }

constexpr std::size_t uuid_length = 36;

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
    // Quotes are no part of the key, and are there, may be there or must not be.
    const std::size_t least_quotes = key.format == KeyFormat::structured ? 2 : 0;
    const std::size_t most_quotes = key.format == KeyFormat::plain ? 0 : 2;
    if (key.uuid) {
        OrderedJson uuid = {{"type", "string"},
                            {"minLength", uuid_length + least_quotes},
                            {"maxLength", uuid_length + most_quotes}};
        if (least_quotes == 0) uuid["format"] = "uuid";
        return uuid;
    }
    // In quotes each character may need a backslash.
    const std::size_t written = most_quotes == 0 ? key.length_max : 2 * key.length_max;
    return {{"type", "string"},
            {"minLength", key.length_min + least_quotes},
            {"maxLength", written + most_quotes}};
}

void add_signature(const SignatureOptions& signature, OrderedJson& parameters) {
    const auto add = [&](const std::string& name, const char* meaning) {
        parameters.push_back(parameter(name, "header", true, meaning, text_schema()));
    };
    const char* const meaning = "An HMAC-SHA256 over the raw body.";
    switch (signature.scheme) {
        case SignatureOptions::Scheme::stripe: add("Stripe-Signature", meaning); break;
        case SignatureOptions::Scheme::github: add("X-Hub-Signature-256", meaning); break;
        case SignatureOptions::Scheme::hmac:
            add(signature.header, meaning);
            if (!signature.time_header.empty()) {
                add(signature.time_header, "When it was signed, in seconds since 1970 UTC.");
            }
            break;
    }
}

OrderedJson parameters_of(const RouteOptions& route) {
    OrderedJson parameters = OrderedJson::array();
    std::string_view rest = route.pattern.path;
    while (rest.find('{') != std::string_view::npos) {
        rest.remove_prefix(rest.find('{') + 1);
        parameters.push_back(parameter(std::string(rest.substr(0, rest.find('}'))), "path", true,
                                       "Part of the path.", text_schema()));
    }
    if (route.key_field.empty() && route.key.use != KeyUse::forbidden && !takes_bulk(route)) {
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
    if (route.signature) add_signature(*route.signature, parameters);
    return parameters;
}

bool takes_body(const RouteOptions& route) {
    if (!route.key_field.empty() || takes_bulk(route)) return true;
    const std::string& method = route.pattern.method;
    return method != "GET" && method != "HEAD" && method != "DELETE" && method != "OPTIONS" &&
           method != "TRACE";
}

OrderedJson items_schema(const KeyHeaderOptions& key) {
    OrderedJson item;
    item["type"] = "object";
    item["properties"]["key"] = text_schema();
    if (key.uuid) {
        item["properties"]["key"]["format"] = "uuid";
        item["properties"]["key"]["minLength"] = uuid_length;
        item["properties"]["key"]["maxLength"] = uuid_length;
    } else {
        item["properties"]["key"]["minLength"] = key.length_min;
        item["properties"]["key"]["maxLength"] = key.length_max;
    }
    item["properties"]["body"]["description"] = "The operation's input.";
    item["required"] = OrderedJson::array({"body"});
    if (key.use == KeyUse::required) item["required"].push_back("key");
    item["additionalProperties"] = false;
    return {{"type", "array"}, {"items", item}, {"minItems", 1}, {"maxItems", most_bulk_items}};
}

OrderedJson request_body(const RouteContract& contract) {
    const RouteOptions& route = contract.route;
    const bool field = !route.key_field.empty();
    // A key is read in JSON alone.
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
    OrderedJson bearer;
    bearer["bearer"] = OrderedJson::array();
    operation["security"] = OrderedJson::array({bearer});
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
    OrderedJson states = OrderedJson::array({"in-flight", "completed"});
    OrderedJson properties;
    properties["state"] = {{"type", "string"}};
    properties["status"] = {{"type", "integer"}, {"description", "The stored answer's status."}};
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
    if (takes_bulk(route)) route.target = SinkTarget{};
    OrderedJson known;
    known["description"] = "The request is under way, or was carried out.";
    known["content"]["application/json"]["schema"] = status_schema(route);
    OrderedJson responses = {{"200", known}};
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
        {"x-onceward", common_object(contract.server)},
        {"paths", paths},
        {"components", components}};
    return document.dump(2) + "\n";
}

}  // namespace onceward
