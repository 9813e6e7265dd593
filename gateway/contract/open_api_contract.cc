#include "gateway/contract/open_api_contract.h"

#include <algorithm>

#include "gateway/contract/contract_sentences.h"

namespace onceward {
namespace {

using Members = nlohmann::ordered_json;

Members sentences(const std::vector<ContractSentence>& lines) {
    Members made = Members::object();
    for (const ContractSentence& line : lines) {
        std::string name = line.name;
        std::ranges::replace(name, ' ', '_');
        made[name] = line.text;
    }
    return made;
}

const char* format_name(KeyFormat format) {
    switch (format) {
        case KeyFormat::either: return "either";
        case KeyFormat::structured: return "structured";
        case KeyFormat::plain: return "plain";
    }
    return "";
}

Members key_values(const RouteOptions& route) {
    const bool field = !route.key_field.empty();
    if (!field && route.key.use == KeyUse::forbidden) return nullptr;
    Members key;
    key["minted_by"] = field ? "sender" : "client";
    key["in"] = field ? "body" : takes_bulk(route) ? "item" : "header";
    key["name"] = field ? route.key_field : takes_bulk(route) ? "key" : route.key.header;
    key["required"] = route.key.use == KeyUse::required;
    if (!field && !takes_bulk(route)) key["format"] = format_name(route.key.format);
    if (route.key.uuid) {
        key["uuid"] = true;
    } else {
        key["bytes"] = {{"least", route.key.length_min}, {"most", route.key.length_max}};
    }
    return key;
}

Members tenant_values(const TenantSource& tenant) {
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

Members values_of_route(const RouteContract& contract) {
    const RouteOptions& route = contract.route;
    Members values;
    values["target"] = target_name(route.target);
    values["key"] = key_values(route);
    if (values["key"].is_null()) return values;
    values["operation"] = operation_of(route.pattern);
    values["tenant"] = tenant_values(route.tenant);
    if (std::holds_alternative<TopicTarget>(route.target)) return values;
    values["conflict"] = route.fingerprint;
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

}  // namespace

nlohmann::ordered_json contract_object(const RouteContract& contract) {
    Members made = sentences(contract_sentences(contract));
    made["values"] = values_of_route(contract);
    return made;
}

nlohmann::ordered_json common_object(const ServerOptions& server) {
    return sentences(common_lines(server));
}

}  // namespace onceward
