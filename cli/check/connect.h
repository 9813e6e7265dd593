#pragma once
// What `check --connect` asks the brokers and the database. It writes nothing and joins no group.
// Used by one thread.

#include <string>
#include <vector>

#include "cli/configuration/load.h"

namespace onceward {

struct ConnectResult {
    std::vector<Finding> findings;
    std::vector<std::string> good;  // what is as it has to be, a line each
};

ConnectResult check_brokers(const Configuration& configuration);
// Checks one server, its topics and routes: see used_databases().
ConnectResult check_database(const Configuration& configuration);
// Checks whether reading can continue at each fence: its offset is still in the log, and it is the
// same log. Queries brokers and database, which must both be healthy. For one server's topics: see
// by_database().
ConnectResult check_fences(const Configuration& configuration);

}  // namespace onceward
