#include "cli/keys/key_scope.h"

#include <algorithm>
#include <memory_resource>
#include <nlohmann/json.hpp>

#include "cli/terminal/exit_code.h"
#include "consumer/intake/key_options.h"
#include "dedup/base/text.h"
#include "gateway/requests/keyed_request.h"

namespace onceward {
namespace {

// The one of that name; `name_of` says each one's.
template <class List, class NameOf>
const auto& one_named(const List& list, const std::string& kind, const std::string& name,
                      NameOf name_of) {
    std::string known;
    for (const auto& one : list) {
        const std::string its_name = name_of(one);
        if (its_name == name) return one;
        known += (known.empty() ? "" : ", ") + its_name;
    }
    throw UsageError("the configuration has no " + kind + " " + name + "; it has " +
                     (known.empty() ? "none" : known));
}

// Takes only texts: the text of a number would change with the way it is written.
std::optional<std::string> composed_as_read(const std::string& written, std::size_t parts) {
    const nlohmann::json array = nlohmann::json::parse(written, nullptr, false);
    if (!array.is_array() || array.size() != parts) return std::nullopt;
    std::vector<std::string_view> texts;
    for (const nlohmann::json& part : array) {
        if (!part.is_string()) return std::nullopt;
        texts.push_back(part.get_ref<const std::string&>());
    }
    return composed_key(texts);
}

}  // namespace

KeyScope scope_of(const TopicConfiguration& topic) {
    KeyScope scope{.owner = "topic " + topic.name,
                   .operation = topic.key.operation,
                   .kinds = {},
                   .has_tenant = topic.key.tenant.has_value()};
    for (const KeySource& source : topic.key.sources) {
        const std::string kind = kind_of(source);
        if (std::ranges::find(scope.kinds, kind) == scope.kinds.end()) scope.kinds.push_back(kind);
        if (source.strip_quotes) scope.quotable.push_back(kind);
        const bool change = source.kind == KeySource::Kind::change;
        if (change || source.kind == KeySource::Kind::fields) {
            scope.composed[kind] = source.names.size() + (change ? 1 : 0);
        }
    }
    scope.uuid = topic.key.charset == KeyOptions::Charset::uuid;
    return scope;
}

KeyScope scope_of(const Configuration& configuration, const RouteConfiguration& route) {
    const std::string name = operation_of(route.options.pattern);
    usage_error_if(kept_of(configuration, route) == nullptr,
                   "route " + name + " leads to topic " + route.topic.topic +
                       ", and its consumer claims the keys: name it with --topic");
    usage_error_if(route.options.key.use == KeyUse::forbidden,
                   "requests of route " + name + " have no keys");
    KeyScope scope{.owner = "route " + name,
                   .operation = name,
                   .kinds = {request_kind(route.options)},
                   .has_tenant = route.options.tenant.kind != TenantSource::Kind::none};
    scope.uuid = route.options.key.uuid;
    const bool in_header = route.options.key_field.empty() && !route.bulk;
    if (in_header && route.options.key.format != KeyFormat::plain) scope.quotable = scope.kinds;
    return scope;
}

std::optional<std::string> key_as_read(const KeyScope& scope, const std::string& kind,
                                       const std::string& written) {
    // A place in the log is not a UUID.
    const auto canonical = [&](std::string text) {
        return scope.uuid && kind != "coordinates" ? lower_case(std::move(text)) : text;
    };
    if (const auto parts = scope.composed.find(kind); parts != scope.composed.end()) {
        return composed_as_read(written, parts->second);
    }
    if (std::ranges::find(scope.quotable, kind) == scope.quotable.end()) return canonical(written);
    std::pmr::monotonic_buffer_resource arena;
    const KeyText text = strip_quotes(written, arena);
    if (text.status == KeyText::Status::invalid) return std::nullopt;
    return canonical(std::string(text.text));
}

const TopicConfiguration& topic_named(const Configuration& configuration, const std::string& name) {
    return one_named(configuration.topics, "topic", name,
                     [](const TopicConfiguration& topic) { return topic.name; });
}

const RouteConfiguration& route_named(const Configuration& configuration, const std::string& name) {
    return one_named(configuration.http.routes, "route", name, [](const RouteConfiguration& route) {
        return operation_of(route.options.pattern);
    });
}

const TopicConfiguration* kept_of(const Configuration& configuration,
                                  const RouteConfiguration& route) {
    const std::string name = operation_of(route.options.pattern);
    for (const auto* routes : {&configuration.route_sinks, &configuration.route_upstreams}) {
        for (const auto& [place, message] : *routes) {
            if (message.name == name) return &message;
        }
    }
    return nullptr;
}

}  // namespace onceward
