#pragma once
// Topics that an operator has paused for a whole group, as PostgreSQL records them. Plain values;
// reading throws PostgresError.

#include <string>
#include <vector>

#include "dedup/postgres/connection.h"

namespace onceward {

struct TopicPause {
    std::string topic;
    std::string reason;
    std::string paused_by;  // the database's role
    std::string paused_at;  // as PostgreSQL prints it
};

// Those of the group that have not been resumed.
std::vector<TopicPause> open_pauses(Connection& connection, const std::string& consumer_group);

// For people: the reason, by whom and since when.
std::string describe(const TopicPause& pause);

}  // namespace onceward
