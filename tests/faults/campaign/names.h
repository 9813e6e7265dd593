#pragma once
// What a seed's things are called in Kafka and in PostgreSQL, and where its files are. A value.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace onceward::campaign {

// What a webhook's other side has read, in the seed's folder.
inline constexpr const char* calls_file = "calls.ndjson";
// What clients have sent to routes.
inline constexpr const char* requests_file = "requests.ndjson";
// What an operator has done to keys.
inline constexpr const char* operators_file = "operators.ndjson";
// How many more workers there are at most than the fleet's own: they join and leave.
inline constexpr int guest_slots = 3;

struct Names {
    std::string group;
    std::vector<std::string> topics;
    std::string side_topic;            // of the stranger in the group
    std::string published;             // where an outbox publishes to
    int hook_port = 0;                 // of the server that a webhook calls
    std::vector<std::uint16_t> doors;  // ports of the workers' routes, by slot; empty: none
    std::string schema;                // Onceward's tables and the sinks' ones
    std::filesystem::path folder;

    std::string table(std::size_t topic) const { return schema + ".sink_" + std::to_string(topic); }
    // Where requests take effect.
    std::string request_table() const { return schema + ".request_effects"; }
    std::string request_function() const { return schema + ".charge"; }
    // What the clock of the worker process of that slot is wrong by (Trial::clocks).
    std::filesystem::path clock(int slot) const {
        return folder / ("clock-" + std::to_string(slot));
    }
    // What the worker process of that slot is called in PostgreSQL, and in its calls.
    static std::string worker(int slot) { return "onceward-worker-" + std::to_string(slot); }
};

}  // namespace onceward::campaign
