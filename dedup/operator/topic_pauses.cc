#include "dedup/operator/topic_pauses.h"

#include "schemas/queries.h"

namespace onceward {

std::vector<TopicPause> open_pauses(Connection& connection, const std::string& consumer_group) {
    const QueryResult rows =
        connection.prepared(sql::pauses_open, Parameters{}.text(consumer_group));
    std::vector<TopicPause> pauses;
    for (int row = 0; row < rows.rows(); ++row) {
        pauses.push_back({std::string(rows.text(row, 0)), std::string(rows.text(row, 1)),
                          std::string(rows.text(row, 2)), std::string(rows.text(row, 3))});
    }
    return pauses;
}

std::string describe(const TopicPause& pause) {
    const std::string who = "paused by " + pause.paused_by + " at " + pause.paused_at;
    return pause.reason.empty() ? who : who + ": " + pause.reason;
}

}  // namespace onceward
