#include <algorithm>
#include <cctype>
#include <map>

#include "cli/configuration/checks.h"
#include "cli/configuration/values.h"

namespace onceward {
namespace {

constexpr std::size_t longest_name = 40;

std::string entry(std::size_t index) { return "databases[" + std::to_string(index) + "]"; }

void check_name(const DatabaseConfiguration& database, const std::string& path, Report& report) {
    const bool fits = database.name.size() <= longest_name &&
                      std::ranges::all_of(database.name, [](unsigned char letter) {
                          return std::isalnum(letter) != 0 || letter == '-' || letter == '_';
                      });
    if (!fits) {
        report.error_at(path + ".name",
                        "This is not a database's name here (letters, digits, `-`, `_`, 40 at "
                        "most).");
    } else if (database.name == default_database) {
        report.error_at(path + ".name",
                        "`postgres` is the server in `postgres:`. Write another name.");
    }
}

// The same place twice would be two guards and two retention jobs on the same tables.
void check_apart(const Configuration& configuration, std::size_t index, Report& report) {
    const DatabaseConfiguration& database = configuration.databases[index];
    const auto schema = [&](const DatabaseConfiguration& one) {
        return one.schema.empty() ? configuration.postgres.schema : one.schema;
    };
    const auto refuse = [&](const std::string& other) {
        report.error_at(entry(index) + ".dsn", "This is where `" + other +
                                                   "` is already. Write another server, database "
                                                   "or schema, or name that one at the topics.");
    };
    if (database.dsn.empty()) return;
    if (database.dsn == configuration.postgres.dsn &&
        schema(database) == configuration.postgres.schema) {
        return refuse(default_database);
    }
    for (std::size_t before = 0; before < index; ++before) {
        const DatabaseConfiguration& other = configuration.databases[before];
        if (other.dsn == database.dsn && schema(other) == schema(database)) {
            return refuse(other.name);
        }
    }
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
        check_name(database, entry(index), report);
        check_server_address(database.dsn, database.schema, entry(index), report);
        check_apart(configuration, index, report);
        if (std::ranges::find(known, database.name) != known.end() && !database.name.empty()) {
            report.error_at(entry(index) + ".name", "The database `" + database.name +
                                                        "` is given twice. Keep one of them.");
        }
        known.push_back(database.name);
        const bool used = std::ranges::any_of(configuration.topics, [&](const auto& topic) {
            return topic.database == database.name;
        });
        if (!used && report.known(entry(index) + ".name")) {
            report.warning_at(entry(index), "No topic is on the database `" + database.name +
                                                "`. Write `database: " + database.name +
                                                "` at one, or remove it.");
        }
    }
    check_topics(configuration, known, report);
}

}  // namespace onceward
