#pragma once
// The chain of single message transforms of a sink connector, as far as a configuration has an
// equal for it. Pure.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/connectors/connector_file.h"
#include "cli/connectors/connector_plan.h"

namespace onceward {

struct ConnectorTransforms {
    // The envelope of a change event is taken off (ExtractNewRecordState).
    bool unwraps = false;
    // A topic's name as the table's name sees it: regular expressions and their replacements, in
    // order.
    std::vector<std::pair<std::string, std::string>> routes;
    // From a column to the field that it comes from, where the two differ.
    std::map<std::string, std::string> renamed;
    std::vector<std::string> left_out;    // fields that no column gets
    std::vector<std::string> only;        // fields that alone become columns; empty: all
    std::vector<ConnectorColumn> added;     // of InsertField
    std::string delimiter;                // between the parts of a flattened name; '': not flat
    std::vector<std::string> key_fields;  // of ValueToKey
    std::vector<ConnectorNote> notes;
};

ConnectorTransforms read_transforms(ConnectorOptions& options);

// The topic's name after the routes.
std::string routed(const std::string& topic, const ConnectorTransforms& transforms);

}  // namespace onceward
