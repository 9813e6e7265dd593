#pragma once
// Where the programs of a PostgreSQL server are. Thread-safe; throws std::runtime_error that says
// what to install.

#include <string>

namespace onceward {

// The full path of `initdb`, `postgres`, `pg_basebackup`, ...: from the folder that the variable
// ONCEWARD_POSTGRES_PROGRAMS names, else from the newest version under Debian's folder, else from
// where `pg_config` says, else from PATH. All programs come from the same folder.
std::string postgres_program(const std::string& name);
// A folder with a server may lack the client programs, such as pg_basebackup.
bool has_postgres_program(const std::string& name);

}  // namespace onceward
