#pragma once
// What PostgreSQL knows about a group, as far as a plan needs it. Plain values.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/configuration/configuration.h"

namespace onceward {

// Rows of the new group, on the server that the new configuration names for the topic.
struct TopicFacts {
    std::int64_t fences = 0;  // those that nobody retired
    std::vector<std::string> ledgers = {};  // that the topic feeds
    std::string fences_in = {};             // another server that has fences of it; '': none has
    std::string sink_problem = {};          // why the sink does not fit its table; ''
};

struct LedgerFacts {
    std::string store;
    std::string reach;
    std::chrono::seconds retention{0};
    std::int64_t claims = 0;
    bool counted = true;  // false: estimated from the size of its tables
};

struct PlanFacts {
    std::map<std::string, TopicFacts> topics;    // by name; those without a row are left out
    std::map<std::string, LedgerFacts> ledgers;  // those that either configuration names
};

// Asks each PostgreSQL server of the new configuration; writes nothing. It takes about as long for
// a hundred million claims as for one: see count_claims(). `now` may be null. Throws PostgresError,
// ServerRefused, MigrationError.
PlanFacts read_facts(const Configuration* now, const Configuration& next);

}  // namespace onceward
