#pragma once
// What a connector becomes: the parts of a configuration, and what was not carried over. Plain
// values.

#include <string>
#include <utility>
#include <vector>

namespace onceward {

// The text between single quotes, as YAML has it. A line's end or another control character
// becomes a blank: within quotes it would begin a line of the file.
inline std::string in_quotes(const std::string& text) {
    std::string quoted = "'";
    for (const char letter : text) {
        quoted += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
        if (letter == '\'') quoted += letter;
    }
    return quoted + "'";
}

// The text where a `$` begins no variable.
inline std::string without_variables(const std::string& text) {
    std::string plain;
    for (const char letter : text) {
        plain += letter;
        if (letter == '$') plain += letter;
    }
    return plain;
}

// What was not carried over, or not as it was: a sentence about one option.
struct ConnectorNote {
    std::string option;
    std::string text;
};

struct PlannedColumn {
    std::string name;
    std::string source;  // as the configuration writes it: a path, or `{metadata: offset}`
    bool required = false;
};

struct PlannedTopic {
    std::string name;
    std::string table;
    std::vector<PlannedColumn> columns;
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
    std::vector<PlannedTopic> topics;
    std::vector<ConnectorNote> notes;  // in the order in which they came up
};

}  // namespace onceward
