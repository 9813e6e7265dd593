#pragma once
// Where a JDBC sink writes, as PostgreSQL's client library takes it. Pure.

#include <string>
#include <vector>

#include "cli/connectors/connector_file.h"
#include "cli/connectors/connector_plan.h"

namespace onceward {

struct JdbcUrl {
    std::string dsn;     // without a password: that is a variable
    std::string schema;  // of `currentSchema`; '' if it is not given
};

// Throws ConnectorError if it is another database than PostgreSQL's.
JdbcUrl read_jdbc_url(ConnectorOptions& options, std::vector<ConnectorNote>& notes);

}  // namespace onceward
