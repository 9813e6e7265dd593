#pragma once
// What a connector becomes: the parts of a configuration, and what was not carried over. Plain
// values.

#include <string>
#include <utility>
#include <vector>

namespace onceward {

// What was not carried over, or not as it was: a sentence about one option.
struct ConnectorNote {
    std::string option;
    std::string text;
};

struct ConnectorColumn {
    std::string name;
    std::string source;  // as the configuration writes it: a path, or `{metadata: offset}`
    bool required = false;
};

struct ConnectorTopic {
    std::string name;
    std::string table;
    std::vector<ConnectorColumn> columns;
    std::vector<std::string> conflict_target;  // empty: rows are inserted
};

struct ConnectorPlan {
    std::string group;
    std::string dsn;
    std::vector<std::pair<std::string, std::string>> kafka_properties;
    int workers = 1;
    int batch_messages = 0;  // 0: the default
    std::string format = "json";
    std::string envelope;             // '' is none
    std::string registry;             // its address; '' is none
    std::string tombstones = "skip";  // as the configuration writes it
    std::string dead_letters;         // the topic that they are published to; '' is none
    std::vector<ConnectorTopic> topics;
    std::vector<ConnectorNote> notes;  // in the order in which they came up
};

}  // namespace onceward
