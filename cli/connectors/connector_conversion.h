#pragma once
// From a JDBC sink connector of Kafka Connect (Confluent's, Aiven's, Debezium's) to a
// configuration. Pure. Throws ConnectorError if the connector is not such a sink, or writes to
// something else than PostgreSQL.

#include <string>

#include "cli/connectors/connector_file.h"
#include "cli/connectors/connector_plan.h"

namespace onceward {

// Every option of the connector is carried over, or has a note.
ConnectorPlan convert_connector(Connector connector);

// The configuration, with the notes as comments at its head.
std::string configuration_text(const ConnectorPlan& plan);

}  // namespace onceward
