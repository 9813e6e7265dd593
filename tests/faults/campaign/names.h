#pragma once
// What a seed's things are called in Kafka and in PostgreSQL, and where its files are. A value.

#include <filesystem>
#include <string>
#include <vector>

namespace onceward::campaign {

struct Names {
    std::string group;
    std::vector<std::string> topics;
    std::string side_topic;  // of the stranger in the group
    std::string schema;      // Onceward's tables and the sinks' ones
    std::filesystem::path folder;

    std::string table(std::size_t topic) const { return schema + ".sink_" + std::to_string(topic); }
};

}  // namespace onceward::campaign
