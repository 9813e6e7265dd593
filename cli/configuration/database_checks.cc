#include <algorithm>
#include <map>
#include <optional>

#include "cli/configuration/checks.h"
#include "cli/configuration/values.h"

namespace onceward {
namespace {

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

void check_databases(const Configuration& configuration, Report& report) {
    std::vector<std::string> known;
    for (std::size_t index = 0; index < configuration.databases.size(); ++index) {
        const DatabaseConfiguration& database = configuration.databases[index];
        const Section at(report, "databases[" + std::to_string(index) + "]");
        check_name(database, at);
        check_server_address(database.dsn, database.schema, at);
        check_apart(configuration, index, at);
        if (std::ranges::find(known, database.name) != known.end() && !database.name.empty()) {
            at.error("name",
                     "The database `" + database.name + "` is given twice. Keep one of them.");
        }
        known.push_back(database.name);
        const bool used =
            std::ranges::find(configuration.topics, database.name, &TopicConfiguration::database) !=
            configuration.topics.end();
        if (!used && at.known("name")) {
            at.warning("", "No topic is on the database `" + database.name +
                               "`. Write `database: " + database.name + "` at one, or remove it.");
        }
    }
    check_topics(configuration, known, report);
}

}  // namespace onceward
