#pragma once
// The PostgreSQL that the tests of one executable share, and a schema of its own for each test.
// Started by the first one that asks, which must be the main thread: the server ends with that
// thread. Where ONCEWARD_TEST_POSTGRES holds a superuser's connection string, that server is used
// instead; its max_prepared_transactions is 4 or more.

#include <memory>
#include <string>

#include "dedup/postgres/connection.h"
#include "tests/support/database.h"

namespace onceward::support {

struct PostgresAddress {
    std::string dsn;         // superuser
    std::string worker_dsn;  // onceward_test_worker, which has no more than a worker needs
};
const PostgresAddress& postgres();

// It gets what schemas/roles/worker.sql grants, and the tests' own tables.
inline constexpr const char* worker_role = "onceward_test_worker";
inline constexpr const char* worker_password = "worker";

// Creates the role that the tests' workers run under on another server, such as one with a standby.
void create_worker_role(const std::string& superuser_dsn);

// Waits until a COMMIT on that server waits for a standby. A session that shows
// synchronous_standby_names is no proof: only the checkpointer's own reload makes commits wait.
bool commits_wait_for_a_standby(const std::string& superuser_dsn);

// A migrated schema for one test. Declare it before the sessions that use it.
class FreshSchema {
  public:
    // In a database of its own on the executable's private server: a copy of one that was migrated
    // once. 94 small tests take 7 s of processor time with copies and 15 s with migrations. The
    // schema has the same name in all copies of an executable. A copy is dropped when the next one
    // is made. On a given server this does as the other constructor, since a database with an
    // extension such as Citus cannot be copied.
    FreshSchema();
    // In a database that exists, and with a name of its own. The destructor drops it.
    explicit FreshSchema(PostgresAddress server);
    ~FreshSchema();
    FreshSchema(const FreshSchema&) = delete;
    FreshSchema& operator=(const FreshSchema&) = delete;

    const std::string& name() const { return name_; }
    const PostgresAddress& server() const { return server_; }
    // What a worker of this test connects with: the least-privilege role and this schema.
    ConnectionOptions worker() const;
    // The schema's owner, for migrations and the operator's commands.
    ConnectionOptions owner() const;
    // Creates a table in this schema that the worker may read and write; answers with its qualified
    // name.
    std::string user_table(const std::string& table, const std::string& columns);
    // A superuser's session with this schema as its search_path.
    Database& database() { return *database_; }

  private:
    void connect();

    PostgresAddress server_;
    std::string name_;
    std::string copy_;  // the database; empty if it is not ours
    std::unique_ptr<Database> database_;
};

}  // namespace onceward::support
