#include "cli/import/import_target.h"

#include <memory>
#include <regex>

#include "cli/usage_error.h"
#include "consumer/key_text.h"
#include "gateway/request_session.h"

namespace onceward {
namespace {

const LedgerOptions& ledger_of(const Configuration& configuration, const KeyScope& scope,
                               const TopicConfiguration& kept) {
    const LedgerOptions& ledger = configuration.ledgers.at(kept.ledger);
    if (ledger.reach == Reach::partition) {
        throw UsageError(
            "with reach: partition a claim is looked for in its message's partition, "
            "which a list of keys does not tell");
    }
    if (ledger.store == StoreKind::lease) {
        throw UsageError("keys of " + scope.owner +
                         " are claimed with leases, each by a call: a list of keys has none");
    }
    return ledger;
}

std::function<std::string(const std::string&)> message_rules(const KeyOptions& options) {
    auto pattern =
        options.pattern.empty() ? nullptr : std::make_shared<const std::regex>(options.pattern);
    return [&options, pattern](const std::string& key) -> std::string {
        if (const char* fault = key_fault(key, options)) return fault;
        const bool fits = !pattern || std::regex_match(key, *pattern);
        return fits ? "" : "it does not match the topic's pattern";
    };
}

std::function<std::string(const std::string&)> request_rules(const RouteConfiguration& route) {
    const bool in_header = route.options.key_field.empty() && !route.bulk;
    return [in_header, &options = route.options.key](const std::string& key) {
        const auto fault =
            in_header ? check_key_for_header(key, options) : check_key_text(key, options);
        return fault ? describe(*fault, options) : std::string();
    };
}

}  // namespace

ImportTarget target_of_topic(const Configuration& configuration, const std::string& name) {
    const TopicConfiguration& topic = topic_named(configuration, name);
    KeyScope scope = scope_of(topic);
    const LedgerOptions& ledger = ledger_of(configuration, scope, topic);
    return {.scope = std::move(scope),
            .source = topic.name,
            .ledger = ledger,
            .fault = message_rules(topic.key),
            .register_source =
                [&configuration, &ledger, name](Connection& connection) {
                    return register_ledger(connection, ledger, configuration.group, name);
                },
            .effect = "a message under one of these keys would then be a duplicate"};
}

ImportTarget target_of_route(const Configuration& configuration, const std::string& name) {
    const RouteConfiguration& route = route_named(configuration, name);
    KeyScope scope = scope_of(configuration, route);
    const LedgerOptions& ledger = ledger_of(configuration, scope, *kept_of(configuration, route));
    auto rules = request_rules(route);
    return {.scope = std::move(scope),
            .source = name,
            .ledger = ledger,
            .fault = std::move(rules),
            .register_source =
                [&configuration, &ledger, name](Connection& connection) {
                    RequestBatcherOptions options;
                    options.postgres = configuration.postgres;
                    return register_requests(connection, ledger, configuration.group, name,
                                             longest_request(options));
                },
            .effect = "a request with one of these keys would then get 410 `answer-gone`"};
}

}  // namespace onceward
