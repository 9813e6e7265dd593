#include "cli/configuration/databases.h"

#include <algorithm>
#include <optional>
#include <set>
#include <stdexcept>

#include "cli/configuration/checks.h"
#include "cli/configuration/values.h"
#include "dedup/message/digest.h"

namespace onceward {
namespace {

bool any_topic_on(const Configuration& configuration, const std::string& database) {
    return std::ranges::any_of(configuration.topics, [&](const TopicConfiguration& topic) {
        return topic.database == database;
    });
}

// DANGER: the brokers give a static member that rejoins its old partitions, even if it now
// subscribes to other topics (KAFKA-12759). It would get those of a topic that left its
// configuration or went to another server, and none of a topic that is new there. So with other
// topics it is another member.
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

constexpr std::size_t longest_name = 40;

void check_name(const DatabaseConfiguration& database, const Section& at) {
    const bool fits = database.name.size() <= longest_name && has_only(database.name, "-_");
    at.check({
        {!fits, "name",
         "This is not a database's name here (letters, digits, `-`, `_`, 40 at most)."},
        {database.name == default_database, "name",
         "`postgres` is the server in `postgres:`. Write another name."},
    });
}

// The same place twice would be two guards and two retention jobs on the same tables.
void check_apart(const Configuration& configuration, std::size_t index, const Section& at) {
    const DatabaseConfiguration& database = configuration.databases[index];
    if (database.dsn.empty()) return;
    const auto same = [&](const Secret& dsn, const std::string& schema) {
        const std::string& common = configuration.postgres.schema;
        return dsn == database.dsn && (schema.empty() ? common : schema) ==
                                          (database.schema.empty() ? common : database.schema);
    };
    std::optional<std::string> other;
    if (same(configuration.postgres.dsn, "")) other = default_database;
    for (std::size_t before = 0; before < index && !other; ++before) {
        const DatabaseConfiguration& earlier = configuration.databases[before];
        if (same(earlier.dsn, earlier.schema)) other = earlier.name;
    }
    if (!other) return;
    at.error("dsn", "This is where `" + *other +
                        "` is already. Write another server, database or schema, or name that one "
                        "at the topics.");
}

void check_topics(const Configuration& configuration, std::vector<std::string> known,
                  Report& report) {
    known.insert(known.begin(), default_database);
    std::map<std::string, std::string> ledgers;  // by name, the database of each
    for (const TopicConfiguration& topic : configuration.topics) {
        const std::string path = topic.path + ".database";
        if (std::ranges::find(known, topic.database) == known.end()) {
            std::string advice = guess(topic.database, known);
            if (advice == ".") advice = ". Known are " + one_of(known) + ".";
            report.error_at(path, "There is no database `" + topic.database + "`" + advice);
            continue;
        }
        const auto [found, first] = ledgers.emplace(topic.ledger, topic.database);
        if (first || found->second == topic.database) continue;
        report.error_at(path, "The ledger `" + topic.ledger + "` is in `" + found->second +
                                  "`, as a topic above says. A ledger is in one database: write "
                                  "the same `database` at each topic that names it, or another "
                                  "ledger name.");
    }
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
        part.operator_dsn = database.operator_dsn;
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

void check_databases(const Configuration& configuration, Report& report) {
    std::vector<std::string> known;
    for (std::size_t index = 0; index < configuration.databases.size(); ++index) {
        const DatabaseConfiguration& database = configuration.databases[index];
        const Section at(report, "databases[" + std::to_string(index) + "]");
        check_name(database, at);
        check_server_address(database.dsn, database.schema, at);
        check_operator_address(database.operator_dsn, at);
        check_apart(configuration, index, at);
        if (std::ranges::find(known, database.name) != known.end() && !database.name.empty()) {
            at.error("name",
                     "The database `" + database.name + "` is given twice. Keep one of them.");
        }
        known.push_back(database.name);
        if (!any_topic_on(configuration, database.name) && at.known("name")) {
            at.warning("", "No topic is on the database `" + database.name +
                               "`. Write `database: " + database.name + "` at one, or remove it.");
        }
    }
    check_topics(configuration, known, report);
}

}  // namespace onceward
