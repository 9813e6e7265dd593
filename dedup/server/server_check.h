#pragma once
// Whether a server is one that a worker may write to. Asked on every new session, since a fail-over
// or a reload changes the answer. Thread-safe beyond its Connection.

#include <string>

#include "dedup/postgres/connection.h"
#include "dedup/postgres/error.h"

namespace onceward {

// Throws ServerRefused for: PostgreSQL before 14 (no client_connection_check_interval and no
// pg_locks.waitstart, so that nothing frees a frozen worker's locks); synchronous_commit, fsync or
// full_page_writes off; a database that is not UTF8 (a text of Kafka that it cannot hold would fail
// in the dead letters as well, and be kept nowhere); a table of our schema that Citus manages (a
// SELECT may miss claims while a node recovers); a pooler in between (the session's limits,
// its prepared statements and the guard belong to one backend; Connection itself refuses that). A
// server in recovery or read-only is a PostgresError 25006: to reach the primary, connect again.
void check_server(Connection& connection);

// The refusal's text, for a setting that is off.
std::string commit_may_be_lost(const std::string& setting);

}  // namespace onceward
