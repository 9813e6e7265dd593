#pragma once
// What one option allows of another: combinations that cannot work, and those that only look as if
// they did. Pure but for looking whether files that are named exist; opens no connection.

#include "cli/configuration/report.h"

namespace onceward {

void check_combinations(const Configuration& configuration, Report& report);

// Its parts.
void check_kafka(const Configuration& configuration, Report& report);
void check_postgres(const Configuration& configuration, Report& report);
// Where a server is; `path` is `postgres` or an entry of `databases`.
void check_server_address(const Secret& dsn, const std::string& schema, const std::string& path,
                          Report& report);
void check_databases(const Configuration& configuration, Report& report);
void check_topic(const TopicConfiguration& topic, const LedgerOptions& ledger,
                 const std::string& path, Report& report);
void check_table_sink(const TopicConfiguration& topic, const TableSinkOptions& sink,
                      const std::string& path, Report& report);

}  // namespace onceward
