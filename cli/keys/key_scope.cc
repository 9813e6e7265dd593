#include "cli/keys/key_scope.h"

#include <algorithm>
#include <memory_resource>

#include "cli/terminal/usage_error.h"
#include "consumer/intake/key_options.h"
#include "dedup/base/text.h"
#include "gateway/http/http.h"
#include "gateway/requests/request_digest.h"

namespace onceward {
namespace {

UsageError not_there(const std::string& kind, const std::string& name, const std::string& known) {
    return UsageError("the configuration has no " + kind + " " + name + "; it has " +
                      (known.empty() ? "none" : known));
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
    }
    scope.uuid = topic.key.charset == KeyOptions::Charset::uuid;
    return scope;
}

KeyScope scope_of(const Configuration& configuration, const RouteConfiguration& route) {
    const std::string name = operation_of(route.options.pattern);
    if (kept_of(configuration, route) == nullptr) {
        throw UsageError("route " + name + " leads to topic " + route.topic.topic +
                         ", and its consumer claims the keys: name it with --topic");
    }
    if (route.options.key.use == KeyUse::forbidden) {
        throw UsageError("requests of route " + name + " have no keys");
    }
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
    if (std::ranges::find(scope.quotable, kind) == scope.quotable.end()) return canonical(written);
    std::pmr::monotonic_buffer_resource arena;
    const KeyText text = strip_quotes(written, arena);
    if (text.status == KeyText::Status::invalid) return std::nullopt;
    return canonical(std::string(text.text));
}

const TopicConfiguration& topic_named(const Configuration& configuration, const std::string& name) {
    std::string known;
    for (const TopicConfiguration& topic : configuration.topics) {
        if (topic.name == name) return topic;
        known += (known.empty() ? "" : ", ") + topic.name;
    }
    throw not_there("topic", name, known);
}

const RouteConfiguration& route_named(const Configuration& configuration, const std::string& name) {
    std::string known;
    for (const RouteConfiguration& route : configuration.http.routes) {
        const std::string its_name = operation_of(route.options.pattern);
        if (its_name == name) return route;
        known += (known.empty() ? "" : ", ") + its_name;
    }
    throw not_there("route", name, known);
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
