#include "cli/configuration/checks.h"

#include <algorithm>
#include <ranges>

#include "cli/configuration/units.h"
#include "dedup/base/nearest_name.h"
#include "dedup/base/text.h"
#include "dedup/postgres/connection_string.h"
#include "dedup/server/migration.h"

namespace onceward {
namespace {

constexpr const char* properties_path = "kafka.properties";
const std::vector<std::string> sasl_mechanisms{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512",
                                               "OAUTHBEARER", "GSSAPI"};

// A librdkafka property as a number; its default where the file is silent.
std::int64_t property(const Configuration& configuration, const std::string& name,
                      std::int64_t fallback) {
    const auto found = configuration.kafka.properties.find(name);
    if (found == configuration.kafka.properties.end()) return fallback;
    return std::strtoll(found->second.reveal().c_str(), nullptr, 10);
}

std::string property_text(const Configuration& configuration, const std::string& name) {
    const auto found = configuration.kafka.properties.find(name);
    return found == configuration.kafka.properties.end() ? "" : lower_case(found->second.reveal());
}

bool has(const Configuration& configuration, const std::string& name) {
    return configuration.kafka.properties.contains(name);
}

std::string of(const std::string& name) { return std::string(properties_path) + "." + name; }

// Routes to tables, functions and upstreams alone never ask a broker.
bool asks_kafka(const Configuration& configuration) {
    const auto publishes = [](const TopicConfiguration& topic) {
        return !outboxes_of(topic).empty() || replies(topic);
    };
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
        if (asks_kafka(configuration)) {
            report.error_at("kafka.bootstrap_servers",
                            "`bootstrap_servers` is missing. Write the brokers to begin with: "
                            "`host:9092`, more than one separated by commas.");
        }
        return;
    }
    if (servers.find("://") != std::string::npos) {
        report.error_at("kafka.bootstrap_servers",
                        "Brokers are named without a scheme. Write `host:9092`; TLS is "
                        "`security.protocol: SSL` under `kafka.properties`.");
    } else if (servers.find_first_of(" ;") != std::string::npos) {
        report.error_at("kafka.bootstrap_servers",
                        "Brokers are separated by commas alone. Write `one:9092,two:9092`.");
    }
}

void check_session(const Configuration& configuration, Report& report) {
    const std::int64_t session = property(configuration, "session.timeout.ms", 45'000);
    const std::int64_t heartbeat = property(configuration, "heartbeat.interval.ms", 3'000);
    const std::int64_t poll = property(configuration, "max.poll.interval.ms", 300'000);
    if (property_text(configuration, "group.protocol") == "consumer") {
        for (const char* name :
             {"session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy"}) {
            if (!has(configuration, name)) continue;
            report.error_at(of(name),
                            "With `group.protocol: consumer` the broker decides this. Remove "
                            "it here and set it on the broker.");
        }
        return;
    }
    if (!configuration.kafka.instance_id.empty() &&
        property_text(configuration, "partition.assignment.strategy").find("cooperative") !=
            std::string::npos) {
        report.error_at(of("partition.assignment.strategy"),
                        "With `kafka.instance_id` a worker that is restarted within a cooperative "
                        "rebalance leaves partitions without an owner. Remove one of the two, or "
                        "write `group.protocol: consumer`.");
    }
    if (heartbeat >= session) {
        report.error_at(has(configuration, "heartbeat.interval.ms") ? of("heartbeat.interval.ms")
                                                                    : of("session.timeout.ms"),
                        "Heartbeats every " + std::to_string(heartbeat) +
                            " ms come too late for a "
                            "session of " +
                            std::to_string(session) +
                            " ms: every member would be "
                            "expelled. Make the interval a third of the session timeout at most.");
    } else if (heartbeat * 3 > session) {
        report.warning_at(has(configuration, "heartbeat.interval.ms") ? of("heartbeat.interval.ms")
                                                                      : of("session.timeout.ms"),
                          "One lost heartbeat may expel a member. Make the interval a third of the "
                          "session timeout at most.");
    }
    if (poll < session) {
        report.error_at(has(configuration, "max.poll.interval.ms") ? of("max.poll.interval.ms")
                                                                   : of("session.timeout.ms"),
                        "`max.poll.interval.ms` (" + std::to_string(poll) +
                            ") is below "
                            "`session.timeout.ms` (" +
                            std::to_string(session) +
                            "), which librdkafka "
                            "refuses. Raise the first or lower the second.");
    }
    if (configuration.drain_timeout.count() >= poll) {
        report.error_at("drain_timeout",
                        "Waiting " + duration_text(configuration.drain_timeout) +
                            " for a batch outlasts `max.poll.interval.ms` (" +
                            std::to_string(poll) +
                            " ms): the member would be expelled first. Write less.");
    }
}

void check_receive_limits(const Configuration& configuration, Report& report) {
    const auto bytes = static_cast<std::int64_t>(configuration.batch.bytes);
    const std::int64_t receive = property(configuration, "receive.message.max.bytes", 100'000'000);
    if (bytes > receive) {
        report.error_at("batch.bytes", size_text(bytes) +
                                           " is more than librdkafka takes in one answer "
                                           "(`receive.message.max.bytes`: " +
                                           std::to_string(receive) +
                                           "). Write less here, or raise that property.");
    }
}

// librdkafka takes any text here, and the login fails later.
void check_mechanism(const Configuration& configuration, Report& report) {
    for (const char* name : {"sasl.mechanism", "sasl.mechanisms"}) {
        const auto found = configuration.kafka.properties.find(name);
        if (found == configuration.kafka.properties.end()) continue;
        const std::string& mechanism = found->second.reveal();
        if (std::ranges::find(sasl_mechanisms, mechanism) != sasl_mechanisms.end()) continue;
        const std::string hint = did_you_mean(mechanism, sasl_mechanisms);
        report.error_at(of(name),
                        // Its text is not shown: a wrong variable's may be a password.
                        "This mechanism does not exist" +
                            (hint.empty() ? "." : hint) +
                            " Known here: `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`, "
                            "`OAUTHBEARER` and `GSSAPI`.");
    }
}

void check_security(const Configuration& configuration, Report& report) {
    const std::string protocol = property_text(configuration, "security.protocol");
    const bool sasl = protocol.starts_with("sasl_");
    const bool tls = protocol.ends_with("ssl");
    for (const auto& [name, value] : configuration.kafka.properties) {
        if (name.starts_with("sasl.") && !sasl) {
            report.error_at(of(name),
                            "This does nothing without SASL. Write `security.protocol: SASL_SSL` "
                            "(or SASL_PLAINTEXT), or remove it.");
        }
        if ((name.starts_with("ssl.") || name == "enable.ssl.certificate.verification") && !tls) {
            report.error_at(of(name),
                            "This does nothing without TLS. Write `security.protocol: SSL` (or "
                            "SASL_SSL), or remove it.");
        }
    }
    const std::string mechanism = property_text(configuration, "sasl.mechanism") +
                                  property_text(configuration, "sasl.mechanisms");
    if (sasl) check_mechanism(configuration, report);
    if (protocol == "sasl_plaintext" && (mechanism.empty() || mechanism == "plain")) {
        report.warning_at(of("security.protocol"),
                          "The password goes over the network in clear. Use SASL_SSL, or SCRAM.");
    }
    if (property_text(configuration, "enable.ssl.certificate.verification") == "false") {
        report.warning_at(of("enable.ssl.certificate.verification"),
                          "Anyone on the network path could pose as the broker. Name the authority "
                          "in `ssl.ca.location` instead.");
    }
}

}  // namespace

void check_kafka(const Configuration& configuration, Report& report) {
    check_servers(configuration, report);
    if (!report.known(properties_path)) return;
    check_session(configuration, report);
    check_receive_limits(configuration, report);
    check_security(configuration, report);
}

void check_server_address(const Secret& dsn, const std::string& schema, const std::string& path,
                          Report& report) {
    if (!dsn.empty() && !valid_connection_string(dsn)) {
        report.error_at(
            path + ".dsn",
            "libpq does not understand this connection string (not shown, because it may hold a "
            "password)." + connection_string_hint(dsn) +
            " Write `host=... dbname=... user=...` or `postgresql://user@host/database`; quote "
            "values with blanks.");
    }
    if (!schema.empty() && !valid_schema_name(schema)) {
        report.error_at(path + ".schema",
                        "`" + schema +
                            "` cannot be the schema's name. Write a-z, 0-9 and `_`, not a digit or "
                            "`pg_` first, 40 at most, such as `onceward`.");
    }
}

void check_postgres(const Configuration& configuration, Report& report) {
    const ConnectionOptions& postgres = configuration.postgres;
    check_server_address(postgres.dsn, postgres.schema, "postgres", report);
    if (postgres.lock_timeout >= postgres.statement_timeout) {
        report.error_at(report.given("postgres.lock_timeout") ? "postgres.lock_timeout"
                                                              : "postgres.statement_timeout",
                        "`lock_timeout` (" + duration_text(postgres.lock_timeout) +
                            ") must be below `statement_timeout` (" +
                            duration_text(postgres.statement_timeout) +
                            "), otherwise it has no effect. Lower the first or raise the second.");
    }
    if (postgres.client_check_interval >= postgres.idle_in_transaction_timeout) {
        report.error_at(
            report.given("postgres.client_check_interval") ? "postgres.client_check_interval"
                                                           : "postgres.idle_in_transaction_timeout",
            "`client_check_interval` (" + duration_text(postgres.client_check_interval) +
                ") must be below `idle_in_transaction_timeout` (" +
                duration_text(postgres.idle_in_transaction_timeout) +
                "): a killed worker's locks should go before a frozen one's.");
    }
    if (postgres.idle_in_transaction_timeout <= postgres.lock_timeout) {
        report.warning_at(report.given("postgres.idle_in_transaction_timeout")
                              ? "postgres.idle_in_transaction_timeout"
                              : "postgres.lock_timeout",
                          "`idle_in_transaction_timeout` (" +
                              duration_text(postgres.idle_in_transaction_timeout) +
                              ") ends a paused worker before others even give up waiting for it (" +
                              duration_text(postgres.lock_timeout) +
                              "). Raise it above `lock_timeout`.");
    }
}

void check_admin(const Configuration& configuration, Report& report) {
    if (configuration.admin || configuration.admin_text == "off") return;
    report.error_at("admin.listen", "`" + configuration.admin_text +
                                        "` is not an address to listen at. Write `127.0.0.1:9464`, "
                                        "`[::1]:9464` or `off`.");
}

namespace {

// The fingerprints of one key are compared, whichever of its topics it came in.
void check_shared_keys(const Configuration& configuration, Report& report) {
    using Of = FingerprintOptions::Of;
    const auto other = [](const TopicConfiguration& one, const TopicConfiguration& two) {
        const FingerprintOptions &left = one.key.fingerprint, &right = two.key.fingerprint;
        if (one.ledger != two.ledger || one.key.operation != two.key.operation) return false;
        if (left.of == Of::none || right.of == Of::none) return false;
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

void check_combinations(const Configuration& configuration, Report& report) {
    check_kafka(configuration, report);
    check_postgres(configuration, report);
    check_databases(configuration, report);
    check_admin(configuration, report);
    check_http(configuration, report);
    std::map<std::string, Mark> seen;
    for (std::size_t index = 0; index < configuration.topics.size(); ++index) {
        const TopicConfiguration& topic = configuration.topics[index];
        const std::string path = "topics[" + std::to_string(index) + "]";
        const auto [first, is_first] = seen.emplace(topic.name, topic.mark);
        if (!is_first && !topic.name.empty()) {
            report.error_at(path + ".name",
                            "The topic `" + topic.name + "` is given twice, first in line " +
                                std::to_string(first->second.line) + ". Keep one of them.");
        }
        check_topic(topic, configuration.ledgers.at(topic.ledger), path, report);
    }
    check_shared_keys(configuration, report);
}

}  // namespace onceward
