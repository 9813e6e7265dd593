#pragma once
// The PostgreSQL servers of a configuration: `postgres`, and those in `databases`. Topics on
// different servers have nothing in common but the consumer group, so each server has a
// configuration of its own here. Pure; thread-safe.

#include <string>
#include <vector>

#include "cli/configuration/configuration.h"

namespace onceward {

// For each server that topics use: the configuration with that server as its `postgres`, its topics
// and their ledgers, and nothing of the others. `postgres` comes first, then the order of
// `databases`.
std::vector<Configuration> by_database(const Configuration& configuration);
// For maintenance of the servers: includes `postgres` also if only routes use it.
std::vector<Configuration> used_databases(const Configuration& configuration);

// The configuration for the topic's server. REQUIRES: the configuration has the topic.
Configuration database_of(const Configuration& configuration, const std::string& topic);

// The ledgers of all topics and routes on that server, each once, by name.
std::vector<LedgerOptions> ledgers_on(const Configuration& configuration,
                                      const std::string& database);

// `postgres` or `database NAME`, for messages.
std::string database_text(const std::string& name);

}  // namespace onceward
