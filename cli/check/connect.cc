#include "cli/check/connect.h"

#include "cli/composition/composition.h"
#include "cli/configuration/databases.h"
#include "cli/configuration/units.h"
#include "cli/keys/key_lookup.h"
#include "cli/operator/broker_view.h"
#include "dedup/base/nearest_name.h"
#include "dedup/server/migration.h"
#include "dedup/server/server_check.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

// A single server needs no name.
std::string good_of(const Configuration& configuration, const std::string& line) {
    const bool only = configuration.databases.empty();
    return (only ? "database" : database_text(configuration.database)) + ": " + line;
}

// A warning: only the operator knows how far back a rewind will ever go.
void check_retention(BrokerView& log, const Configuration& configuration,
                     const TopicConfiguration& topic, ConnectResult& result) {
    const std::chrono::seconds claims = configuration.ledgers.at(topic.ledger).retention;
    std::string text;
    try {
        text = rewind_warning(log.queries().topic_properties(topic.name), claims);
    } catch (const KafkaError& error) {
        if (!not_allowed(error)) throw;
        text =
            "The brokers do not let this user see how long the topic keeps its messages. Allow "
            "DescribeConfigs, or make sure that it is no longer than its ledger's `retention`, " +
            duration_text(claims) + ".";
    }
    if (text.empty()) return;
    result.warning(topic.retention_mark, topic.path + ".ledger.retention", std::move(text));
}

void check_topic(BrokerView& log, const Configuration& configuration,
                 const TopicConfiguration& topic, ConnectResult& result) {
    const int partitions = log.queries().partition_count(topic.name);
    if (partitions == 0) {
        const std::string hint = did_you_mean(topic.name, log.queries().topic_names());
        result.error(topic.mark, topic.path + ".name",
                     "The brokers know no topic `" + topic.name + "`, or this user may not see it" +
                         (hint.empty() ? "." : hint) + " Create it, or allow Describe and Read.");
        return;
    }
    log.range({topic.name, Partition{0}});
    result.good.push_back("topic " + topic.name + ": " + std::to_string(partitions) +
                          " partitions");
    if (configuration.workers > partitions && configuration.topics.size() == 1) {
        result.warning(topic.mark, topic.path,
                       "There are " + std::to_string(configuration.workers) + " workers for " +
                           std::to_string(partitions) +
                           " partitions: the others are idle. Write fewer `workers`.");
    }
    log.group_offset({topic.name, Partition{0}});
    check_retention(log, configuration, topic, result);
}

// Nothing creates the topics that the outbox publishes to: rows for a missing one would wait.
void check_outboxes(BrokerView& log, const TopicConfiguration& topic, ConnectResult& result) {
    std::vector<std::string> wanted;
    for (const OutboxOptions* outbox : outboxes_of(topic)) wanted.push_back(outbox->topic);
    if (replies(topic)) wanted.push_back(topic.answers.reply.topic);
    if (topic.dead_letters) wanted.push_back(topic.dead_letters->topic);
    for (const std::string& to : wanted) {
        if (log.queries().partition_count(to) > 0) {
            result.good.push_back("outbox of topic " + topic.name + ": there is a topic " + to);
            continue;
        }
        result.error(
            topic.mark, topic.path,
            "The brokers know no topic `" + to +
                "`, to which the outbox publishes, or this user may not see it. Create it, "
                "or allow Describe and Write.");
    }
}

std::string noted(const std::string& note) { return note.empty() ? "" : "; " + note; }

// A failing check of the topic's sink is the sink's finding, not the connection's.
void check_sink(Connection& connection, const TopicConfiguration& topic, ConnectResult& result) {
    try {
        const std::unique_ptr<Sink> sink = make_sink(topic);
        sink->prepare(connection);
        const bool called = sink->effects() != nullptr;
        result.good.push_back((is_route_name(topic.name) ? "sink of route " : "sink of topic ") +
                              topic.name +
                              (called ? ": only messages call it, so it was not checked"
                                      : ": its columns and types fit" + noted(sink->note())));
    } catch (const SinkMismatch& error) {
        result.error(topic.sink_mark, topic.path + ".sink", error.what());
    } catch (const PostgresError& error) {
        if (error.diagnosis().connection_lost) throw;
        result.error(topic.sink_mark, topic.path + ".sink", error.what());
    }
}

void check_privileges(Connection& connection, const Configuration& configuration,
                      ConnectResult& result) {
    const QueryResult lacking = connection.query(sql::worker_privileges, {});
    for (int row = 0; row < lacking.rows(); ++row) {
        result.error(
            configuration.postgres_mark, configuration.postgres_path,
            "The role lacks " + std::string(lacking.text(row, 0)) +
                ". `onceward migrate up --grant-to ROLE`, as the schema's owner, grants what a "
                "worker needs.");
    }
    if (lacking.rows() > 0) return;
    result.good.push_back(good_of(configuration, "the role may do what a worker does"));
}

}  // namespace

std::string no_answer(const std::optional<KafkaError>& refusal, const KafkaError& asked) {
    if (refusal && not_authenticated(*refusal)) {
        return "The brokers refuse the login, or this port accepts none (" +
               std::string(refusal->what()) +
               "). Check `sasl.mechanism`, `sasl.username` and `sasl.password` among `properties`, "
               "and the port: a plaintext one does not speak SASL.";
    }
    if (refusal && tls_failed(*refusal)) {
        return "No TLS connection with the brokers can be made (" + std::string(refusal->what()) +
               "). Check `ssl.ca.location` among `properties`, and the port: a plaintext one does "
               "not speak TLS.";
    }
    return "The brokers do not answer (" + std::string(asked.what()) +
           "). Check `bootstrap_servers`, `security.protocol` and the credentials among "
           "`properties`, and what the client says on standard error.";
}

ConnectResult check_brokers(const Configuration& configuration) {
    ConnectResult result;
    // No consumer joins the group.
    if (configuration.topics.empty()) return result;
    BrokerView log(configuration.kafka);
    try {
        for (const TopicConfiguration& topic : configuration.topics) {
            check_topic(log, configuration, topic, result);
            check_outboxes(log, topic, result);
        }
        result.good.push_back("group " + configuration.group + ": its offsets can be read");
    } catch (const KafkaError& error) {
        result.error(configuration.kafka_mark, "kafka", no_answer(log.refusal(), error));
    }
    return result;
}

ConnectResult check_registries(const Configuration& configuration) {
    ConnectResult result;
    for (std::size_t index = 0; index < configuration.registries.size(); ++index) {
        const RegistryConfiguration& registry = configuration.registries[index];
        for (const std::string& address : registry.urls) {
            const std::string fault = registry_fault(registry, address);
            const std::string subject = "registry " + registry.name + " at " + address;
            if (fault.empty()) {
                result.good.push_back(subject + ": reached, and it takes the login");
                continue;
            }
            result.error(registry.mark, "registries[" + std::to_string(index) + "]",
                         "The " + subject + " " + fault +
                             ". While it is so, messages with a schema that is not known yet "
                             "wait. Check `urls`, the login and `ca_file`.");
        }
    }
    return result;
}

ConnectResult check_database(const Configuration& configuration) {
    ConnectResult result;
    const auto fail = [&](const std::string& message) {
        result.error(configuration.postgres_mark, configuration.postgres_path, message);
    };
    try {
        Connection connection(configuration.postgres);
        check_server(connection);
        result.good.push_back(good_of(configuration, "reached, with settings that suit Onceward"));
        require_version(connection);
        result.good.push_back(good_of(configuration, "schema " + configuration.postgres.schema +
                                                         ", version " +
                                                         std::to_string(expected_version())));
        check_privileges(connection, configuration, result);
        for (const TopicConfiguration& topic : configuration.topics) {
            check_sink(connection, topic, result);
        }
        for (const auto& [place, route] : configuration.route_sinks) {
            check_sink(connection, route, result);
        }
    } catch (const PostgresError& error) {
        // The first line says it; libpq's further ones are guesses.
        const std::string text = error.what();
        fail("PostgreSQL says: " + text.substr(0, text.find('\n')) + ". Check `dsn`.");
    } catch (const ServerRefused& error) {
        fail(std::string(error.what()) + ".");
    } catch (const MigrationError& error) {
        fail(std::string(error.what()) + ".");
    }
    return result;
}

}  // namespace onceward
