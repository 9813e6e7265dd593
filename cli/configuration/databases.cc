#include "cli/configuration/databases.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "dedup/message/digest.h"

namespace onceward {
namespace {

bool any_topic_on(const Configuration& configuration, const std::string& database) {
    return std::ranges::any_of(configuration.topics, [&](const TopicConfiguration& topic) {
        return topic.database == database;
    });
}

// DANGER: the brokers give a static member that comes back the partitions that it had, whatever it
// subscribes to by now (KAFKA-12759): those of a topic that left its configuration, or went to
// another server, and none of a topic that is new there. So with other topics it is another member.
std::string digits_of(const std::vector<TopicConfiguration>& topics) {
    std::set<std::string> names;
    for (const TopicConfiguration& topic : topics) names.insert(topic.name);
    std::string all;
    for (const std::string& name : names) all += name + '\n';
    return hex(digest_of_bytes(all)).substr(0, 8);
}

Configuration only(const Configuration& whole, const std::string& database) {
    Configuration part = whole;
    part.database = database;
    std::erase_if(part.topics, [&](const auto& topic) { return topic.database != database; });
    // Routes are on the server in `postgres`; their ledgers are in ledgers_on().
    if (database != default_database) {
        part.route_sinks.clear();
        part.route_upstreams.clear();
    }
    std::erase_if(part.ledgers, [&](const auto& ledger) {
        return std::ranges::none_of(part.topics, [&](const TopicConfiguration& topic) {
            return topic.ledger == ledger.first;
        });
    });
    if (!part.kafka.instance_id.empty()) part.kafka.instance_id += "." + digits_of(part.topics);
    return part;
}

}  // namespace

std::vector<Configuration> by_database(const Configuration& configuration) {
    std::vector<Configuration> parts;
    if (any_topic_on(configuration, configuration.database)) {
        parts.push_back(only(configuration, configuration.database));
    }
    for (std::size_t index = 0; index < configuration.databases.size(); ++index) {
        const DatabaseConfiguration& database = configuration.databases[index];
        if (!any_topic_on(configuration, database.name)) continue;
        Configuration& part = parts.emplace_back(only(configuration, database.name));
        part.postgres.dsn = database.dsn;
        if (!database.schema.empty()) part.postgres.schema = database.schema;
        part.postgres_mark = database.mark;
        part.postgres_path = "databases[" + std::to_string(index) + "]";
    }
    return parts;
}

std::vector<Configuration> used_databases(const Configuration& configuration) {
    std::vector<Configuration> parts = by_database(configuration);
    const bool routes =
        !configuration.route_sinks.empty() || !configuration.route_upstreams.empty();
    if (routes && !any_topic_on(configuration, configuration.database)) {
        parts.insert(parts.begin(), only(configuration, configuration.database));
    }
    return parts;
}

Configuration database_of(const Configuration& configuration, const std::string& topic) {
    for (Configuration& part : by_database(configuration)) {
        for (const TopicConfiguration& candidate : part.topics) {
            if (candidate.name == topic) return std::move(part);
        }
    }
    throw std::logic_error("the configuration has no topic " + topic);
}

std::vector<LedgerOptions> ledgers_on(const Configuration& configuration,
                                      const std::string& database) {
    std::set<std::string> names;
    for (const TopicConfiguration& topic : configuration.topics) {
        if (topic.database == database) names.insert(topic.ledger);
    }
    for (const auto* routes : {&configuration.route_sinks, &configuration.route_upstreams}) {
        if (database != default_database) break;
        for (const auto& [place, message] : *routes) names.insert(message.ledger);
    }
    std::vector<LedgerOptions> ledgers;
    for (const std::string& name : names) ledgers.push_back(configuration.ledgers.at(name));
    return ledgers;
}

std::string database_text(const std::string& name) {
    return name == default_database ? name : "database " + name;
}

}  // namespace onceward
