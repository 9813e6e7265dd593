#include "cli/configuration/checks.h"

#include <algorithm>
#include <filesystem>
#include <ranges>

#include "cli/configuration/registry.h"
#include "cli/configuration/units.h"
#include "cli/configuration/values.h"
#include "dedup/base/text.h"
#include "dedup/postgres/connection_string.h"
#include "dedup/server/migration.h"

namespace onceward {
namespace {

constexpr const char* bootstrap = "kafka.bootstrap_servers";
const std::vector<std::string> sasl_mechanisms{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512",
                                               "OAUTHBEARER", "GSSAPI"};

bool has(const KafkaOptions& kafka, const std::string& name) {
    return kafka.properties.contains(name);
}

// A librdkafka property in lower case; '' if the file does not set it.
std::string property_text(const KafkaOptions& kafka, const std::string& name) {
    return has(kafka, name) ? lower_case(kafka.properties.at(name).reveal()) : "";
}

// The same as a number; its default if the file does not set it.
std::int64_t property(const KafkaOptions& kafka, const std::string& name, std::int64_t fallback) {
    if (!has(kafka, name)) return fallback;
    return std::strtoll(kafka.properties.at(name).reveal().c_str(), nullptr, 10);
}

// Routes to tables, functions and upstreams alone never ask a broker.
bool asks_kafka(const Configuration& configuration) {
    const auto sinks = configuration.route_sinks | std::views::values;
    const auto to_a_topic = [](const RouteConfiguration& route) {
        return !route.topic.topic.empty();
    };
    return !configuration.topics.empty() || std::ranges::any_of(sinks, publishes) ||
           std::ranges::any_of(configuration.http.routes, to_a_topic);
}

void check_servers(const Configuration& configuration, Report& report) {
    const std::string& servers = configuration.kafka.bootstrap_servers;
    if (servers.empty()) {
        if (!asks_kafka(configuration)) return;
        report.error_at(bootstrap,
                        "`bootstrap_servers` is missing. Write the brokers to begin with: "
                        "`host:9092`, more than one separated by commas.");
    } else if (servers.find("://") != std::string::npos) {
        report.error_at(bootstrap,
                        "Brokers are named without a scheme. Write `host:9092`; TLS is "
                        "`security.protocol: SSL` under `kafka.properties`.");
    } else if (servers.find_first_of(" ;") != std::string::npos) {
        report.error_at(bootstrap,
                        "Brokers are separated by commas alone. Write `one:9092,two:9092`.");
    }
}

// `at` is `kafka.properties`, also in the next functions.
void check_session(const Configuration& configuration, const Section& at) {
    const KafkaOptions& kafka = configuration.kafka;
    const std::int64_t session = property(kafka, "session.timeout.ms", 45'000);
    const std::int64_t heartbeat = property(kafka, "heartbeat.interval.ms", 3'000);
    const std::int64_t poll = property(kafka, "max.poll.interval.ms", 300'000);
    if (property_text(kafka, "group.protocol") == "consumer") {
        for (const char* name :
             {"session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy"}) {
            if (!has(kafka, name)) continue;
            at.error(name,
                     "With `group.protocol: consumer` the broker decides this. Remove it here and "
                     "set it on the broker.");
        }
        return;
    }
    const std::string strategy = property_text(kafka, "partition.assignment.strategy");
    const auto blamed = [&](const char* name) {
        return has(kafka, name) ? name : "session.timeout.ms";
    };
    at.check({
        {!kafka.instance_id.empty() && strategy.find("cooperative") != std::string::npos,
         "partition.assignment.strategy",
         "With `kafka.instance_id` a worker that is restarted within a cooperative rebalance "
         "leaves partitions without an owner. Remove one of the two, or write `group.protocol: "
         "consumer`."},
        {heartbeat >= session, blamed("heartbeat.interval.ms"),
         "Heartbeats every " + std::to_string(heartbeat) + " ms come too late for a session of " +
             std::to_string(session) +
             " ms: every member would be expelled. Make the interval a third of the session "
             "timeout at most."},
    });
    if (heartbeat < session && heartbeat * 3 > session) {
        at.warning(blamed("heartbeat.interval.ms"),
                   "One lost heartbeat may expel a member. Make the interval a third of the "
                   "session timeout at most.");
    }
    at.check({
        {poll < session, blamed("max.poll.interval.ms"),
         "`max.poll.interval.ms` (" + std::to_string(poll) + ") is below `session.timeout.ms` (" +
             std::to_string(session) +
             "), which librdkafka refuses. Raise the first or lower the second."},
    });
    at.top().check({
        {configuration.drain_timeout.count() >= poll, "drain_timeout",
         "Waiting " + duration_text(configuration.drain_timeout) +
             " for a batch outlasts `max.poll.interval.ms` (" + std::to_string(poll) +
             " ms): the member would be expelled first. Write less."},
    });
}

void check_receive_limits(const Configuration& configuration, Report& report) {
    const auto bytes = static_cast<std::int64_t>(configuration.batch.bytes);
    const std::int64_t receive =
        property(configuration.kafka, "receive.message.max.bytes", 100'000'000);
    if (bytes <= receive) return;
    report.error_at("batch.bytes", size_text(bytes) +
                                       " is more than librdkafka takes in one answer "
                                       "(`receive.message.max.bytes`: " +
                                       std::to_string(receive) +
                                       "). Write less here, or raise that property.");
}

// librdkafka takes any text here, and the login fails later.
void check_mechanism(const KafkaOptions& kafka, const Section& at) {
    for (const char* name : {"sasl.mechanism", "sasl.mechanisms"}) {
        if (!has(kafka, name)) continue;
        const std::string& mechanism = kafka.properties.at(name).reveal();
        if (std::ranges::find(sasl_mechanisms, mechanism) != sasl_mechanisms.end()) continue;
        // Its text is not shown: if a wrong variable was named, it may be a password.
        at.error(name, "This mechanism does not exist" + guess(mechanism, sasl_mechanisms) +
                           " Known here: `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`, `OAUTHBEARER` "
                           "and `GSSAPI`.");
    }
}

// librdkafka opens these files when the process starts. A path that is not absolute begins where
// that happens, which need not be here.
void check_key_files(const KafkaOptions& kafka, const Section& at) {
    for (const auto& [name, value] : kafka.properties) {
        if (!name.starts_with("ssl.") || !name.ends_with(".location")) continue;
        const std::filesystem::path path = value.reveal();
        std::error_code ignored;
        // `probe` asks librdkafka to search for the system's authorities. A folder may hold them.
        if (path.empty() || path == "probe" || std::filesystem::exists(path, ignored)) continue;
        // The path is not shown: if a wrong variable was named, it may be a password.
        if (path.is_absolute()) {
            at.error(name, "There is no such file (not shown). Write the path of one.");
        } else {
            at.warning(name,
                       "There is no such file here (not shown). This path begins at the folder in "
                       "which the process is started. Write an absolute one.");
        }
    }
}

void check_security(const KafkaOptions& kafka, const Section& at) {
    const std::string verification = "enable.ssl.certificate.verification";
    const std::string protocol = property_text(kafka, "security.protocol");
    const bool sasl = protocol.starts_with("sasl_");
    const bool tls = protocol.ends_with("ssl");
    for (const auto& [name, value] : kafka.properties) {
        at.check({
            {name.starts_with("sasl.") && !sasl, name,
             "This does nothing without SASL. Write `security.protocol: SASL_SSL` (or "
             "SASL_PLAINTEXT), or remove it."},
            {(name.starts_with("ssl.") || name == verification) && !tls, name,
             "This does nothing without TLS. Write `security.protocol: SSL` (or SASL_SSL), or "
             "remove it."},
        });
    }
    if (tls) check_key_files(kafka, at);
    if (sasl) check_mechanism(kafka, at);
    const std::string mechanism =
        property_text(kafka, "sasl.mechanism") + property_text(kafka, "sasl.mechanisms");
    if (protocol == "sasl_plaintext" && (mechanism.empty() || mechanism == "plain")) {
        at.warning("security.protocol",
                   "The password goes over the network in clear. Use SASL_SSL, or SCRAM.");
    }
    if (property_text(kafka, verification) == "false") {
        at.warning(verification,
                   "Anyone on the network path could pose as the broker. Name the authority in "
                   "`ssl.ca.location` instead.");
    }
}

void check_kafka(const Configuration& configuration, Report& report) {
    const Section at(report, "kafka.properties");
    check_servers(configuration, report);
    if (!at.known()) return;
    check_session(configuration, at);
    check_receive_limits(configuration, report);
    check_security(configuration.kafka, at);
}

void check_postgres(const Configuration& configuration, Report& report) {
    const ConnectionOptions& postgres = configuration.postgres;
    const Section at(report, "postgres");
    const std::string lock = duration_text(postgres.lock_timeout);
    const std::string idle = duration_text(postgres.idle_in_transaction_timeout);
    check_server_address(postgres.dsn, postgres.schema, at);
    at.check({
        {postgres.lock_timeout >= postgres.statement_timeout,
         at.given_of("lock_timeout", "statement_timeout"),
         "`lock_timeout` (" + lock + ") must be below `statement_timeout` (" +
             duration_text(postgres.statement_timeout) +
             "), otherwise it has no effect. Lower the first or raise the second."},
        {postgres.client_check_interval >= postgres.idle_in_transaction_timeout,
         at.given_of("client_check_interval", "idle_in_transaction_timeout"),
         "`client_check_interval` (" + duration_text(postgres.client_check_interval) +
             ") must be below `idle_in_transaction_timeout` (" + idle +
             "): a killed worker's locks should go before a frozen one's."},
    });
    if (postgres.idle_in_transaction_timeout > postgres.lock_timeout) return;
    at.warning(at.given_of("idle_in_transaction_timeout", "lock_timeout"),
               "`idle_in_transaction_timeout` (" + idle +
                   ") ends a frozen worker before others even give up waiting for it (" + lock +
                   "). Raise it above `lock_timeout`.");
}

// What the workers of a process need at most, on top of the process: their queues, and three times
// a batch. Each server has workers of its own.
std::int64_t memory_of_workers(const Configuration& configuration) {
    std::map<std::string, std::size_t> topics;
    for (const TopicConfiguration& topic : configuration.topics) ++topics[topic.database];
    std::size_t each = 0;
    for (const auto& [server, count] : topics) {
        each += std::max(queued_kilobytes, count * queued_kilobytes_each) * 1024 +
                3 * configuration.batch.bytes;
    }
    return configuration.workers * static_cast<std::int64_t>(each);
}

// Routes alone have no budget.
void check_memory(const Configuration& configuration, Report& report) {
    constexpr std::int64_t idle = std::int64_t{30} << 20;  // docs/performance.md, row 16
    const std::int64_t budget = configuration.memory_budget.value_or(0);
    if (budget == 0 || configuration.topics.empty()) return;
    const std::int64_t needed =
        idle + memory_of_workers(configuration) + configuration.claims_memory.value_or(0);
    const std::string advice =
        " Write `" + size_text(needed) + "` or more, or `0B` for no budget.";
    if (budget < idle) {
        report.error_at("memory.budget", "A process that has read nothing has about " +
                                             size_text(idle) +
                                             ", so each start would end with exit code 75." +
                                             advice);
    } else if (budget < needed && report.known("workers") && report.known("batch.bytes") &&
               report.known("memory.claims")) {
        report.warning_at("memory.budget",
                          "Full queues, batches and claims may need more, and then partitions "
                          "halt that did nothing wrong." + advice);
    }
}

void check_admin(const Configuration& configuration, Report& report) {
    if (configuration.admin_text == "off" && configuration.admin_page == true) {
        report.error_at("admin.page", "There is no page without a port. Set `admin.listen`.");
    }
    if (configuration.admin || configuration.admin_text == "off") return;
    report.error_at("admin.listen", "`" + configuration.admin_text +
                                        "` is not an address to listen at. Write `127.0.0.1:9464`, "
                                        "`[::1]:9464` or `off`.");
}

// The fingerprints of one key are compared, no matter in which of its topics it came.
void check_shared_keys(const Configuration& configuration, Report& report) {
    using Of = FingerprintOptions::Of;
    const auto has_time = [](const TopicConfiguration& topic) {
        return topic.key.minted_at.kind != MintedSource::Kind::none;
    };
    const auto other = [&](const TopicConfiguration& one, const TopicConfiguration& two) {
        const FingerprintOptions &left = one.key.fingerprint, &right = two.key.fingerprint;
        if (one.ledger != two.ledger || one.key.operation != two.key.operation) return false;
        // The time is part of the fingerprint, and the only part if there is no other.
        if (left.of == Of::none && !has_time(one)) return false;
        if (right.of == Of::none && !has_time(two)) return false;
        if (has_time(one) != has_time(two)) return true;
        return left != right || (left.of == Of::fields && one.format.format != two.format.format);
    };
    const std::vector<TopicConfiguration>& topics = configuration.topics;
    for (std::size_t second = 1; second < topics.size(); ++second) {
        for (std::size_t first = 0; first < second; ++first) {
            if (!other(topics[first], topics[second])) continue;
            report.error_at(topics[second].path + ".key.fingerprint",
                            "The topic `" + topics[first].name +
                                "` has the same keys (ledger and operation) with other "
                                "fingerprints: each repeat between the two would be a conflict. "
                                "Write the same at both, or `none` at one of them.");
        }
    }
}

}  // namespace

void check_server_address(const Secret& dsn, const std::string& schema, const Section& at) {
    at.check({
        {!dsn.empty() && !valid_connection_string(dsn), "dsn",
         "libpq does not understand this connection string (not shown, because it may hold a "
         "password)." +
             connection_string_hint(dsn) +
             " Write `host=... dbname=... user=...` or `postgresql://user@host/database`; quote "
             "values with blanks."},
        {!schema.empty() && !valid_schema_name(schema), "schema",
         "`" + schema +
             "` cannot be the schema's name. Write a-z, 0-9 and `_`, not a digit or `pg_` first, "
             "40 at most, such as `onceward`."},
    });
}

void check_combinations(const Configuration& configuration, Report& report) {
    check_kafka(configuration, report);
    check_postgres(configuration, report);
    check_databases(configuration, report);
    check_registries(configuration, report);
    check_memory(configuration, report);
    check_admin(configuration, report);
    check_admin_access(configuration, report);
    check_traces(configuration.traces, Section(report, "traces"));
    check_http(configuration, report);
    std::map<std::string, Mark> seen;
    for (const TopicConfiguration& topic : configuration.topics) {
        const Section at(report, topic.path);
        const auto [first, is_first] = seen.emplace(topic.name, topic.mark);
        if (!is_first && !topic.name.empty()) {
            at.error("name", "The topic `" + topic.name + "` is given twice, first in line " +
                                 std::to_string(first->second.line) + ". Keep one of them.");
        }
        check_topic(topic, configuration.ledgers.at(topic.ledger), at);
    }
    check_shared_keys(configuration, report);
    check_dead_letter_topics(configuration, report);
}

}  // namespace onceward
