#pragma once
// The topics of a sink connector, the table of each, and its columns as far as the connector names
// them. Pure.

#include <string>

#include "cli/connectors/connector_file.h"
#include "cli/connectors/connector_plan.h"
#include "cli/connectors/connector_transforms.h"

namespace onceward {

struct ConnectorTables {
    std::string default_schema;  // '': the search path decides
    // Debezium's names: a point in a topic becomes `_`, and without quotes all is lower case.
    bool debezium = false;
    const ConnectorTransforms& transforms;
    std::string path_prefix;  // where a row begins in the payload, such as `after`
};

// Adds the topics to the plan. Throws ConnectorError.
void plan_topics(ConnectorOptions& options, const ConnectorTables& tables, ConnectorPlan& plan);

}  // namespace onceward
