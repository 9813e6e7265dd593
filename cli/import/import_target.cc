#include <memory>
#include <regex>

#include "cli/import/import.h"
#include "cli/terminal/exit_code.h"
#include "consumer/intake/key_options.h"
#include "dedup/once.h"
#include "gateway/to_sink/sink_session.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

constexpr std::size_t longest_call_key = 255;

const LedgerOptions& ledger_of(const Configuration& configuration, const KeyScope& scope,
                               const TopicConfiguration& kept) {
    const LedgerOptions& ledger = configuration.ledgers.at(kept.ledger);
    usage_error_if(
        ledger.reach == Reach::partition,
        "with reach: partition a claim is looked for in its message's partition, which a list "
        "of keys does not contain");
    usage_error_if(ledger.store == StoreKind::lease,
                   "keys of " + scope.owner +
                       " are claimed with leases, each by a call: a list of keys has none");
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
            .ledger = ledger,
            .fault = std::move(rules),
            .register_source =
                [&configuration, &ledger, name](Connection& connection) {
                    SinkBatcherOptions options;
                    options.postgres = configuration.postgres;
                    return register_requests(connection, ledger, configuration.group, name,
                                             longest_request(options));
                },
            .effect = "a request with one of these keys would then get 410 `answer-gone`"};
}

ImportTarget target_of_calls(Connection& connection, const std::string& operation,
                             const std::string& tenant, const std::string& ledger) {
    const QueryResult known = connection.query(sql::import_ledger, {ledger});
    if (known.rows() == 0) {
        throw std::runtime_error("there is no ledger " + ledger +
                                 " yet: the service that calls once() makes it at its start");
    }
    OnceOptions options;
    options.ledger = ledger;
    options.retention = std::chrono::seconds(known.integer(0, 0));
    // The service's own value counts, which is longer.
    options.longest_request = std::chrono::milliseconds(0);
    LedgerOptions kept;
    kept.name = ledger;
    kept.retention = options.retention;
    kept.stores_results = true;
    return {
        .scope = {.owner = "operation " + operation,
                  .operation = operation,
                  .kinds = {std::string(kind_of_calls)},
                  .has_tenant = !tenant.empty()},
        .ledger = kept,
        .fault = [](const std::string& key) -> std::string {
            const bool good = !key.empty() && key.size() <= longest_call_key &&
                              key.find('\0') == std::string::npos;
            return good ? "" : "a key of once() has 1 to 255 bytes, and no NUL among them";
        },
        .register_source =
            [options](Connection& session) { return OnceLedger(session, options).registered(); },
        .effect = "a call with one of these keys would then be answered `unknown`, and not run"};
}

}  // namespace onceward
