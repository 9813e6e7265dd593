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
// Of one server, its topics and routes: see used_databases().
ConnectResult check_database(const Configuration& configuration);
// Whether each fence can go on where it stands: still in the log, and in the same log. Asks brokers
// and database, which must both be good. Of one server's topics: see by_database().
ConnectResult check_fences(const Configuration& configuration);

}  // namespace onceward
