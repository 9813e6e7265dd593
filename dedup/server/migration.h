#pragma once
// The life cycle of our own schema: numbered migrations up and down, each in one transaction under
// an advisory lock, so that two runs at once are safe. A schema from before the first release,
// whose migrations no program has any more, is refused. Not thread-safe beyond its Connection. If
// the operator must fix something, it throws a MigrationError whose text says how. Errors of
// PostgreSQL are PostgresErrors, and nothing of that migration stays.

#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/postgres/connection.h"
#include "schemas/migrations.h"

namespace onceward {

// The migrations that a program knows, by number from 1 on. Tests pass others than this program's.
using KnownMigrations = std::span<const Migration>;

class MigrationError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct MigrationStatus {
    enum class Standing {
        applied,
        pending,
        changed,  // applied, with a text that differs from this program's
        unknown,  // applied by a newer program
    };
    int number = 0;
    std::string name;
    Standing standing = Standing::pending;
    std::string applied_at;  // as PostgreSQL prints it; '' while pending
};
std::string_view to_text(MigrationStatus::Standing standing);

// Letters a-z, digits and `_`, not beginning with a digit or `pg_`, at most 40 bytes: the name is
// unquoted in all SQL.
bool valid_schema_name(std::string_view schema);

// The highest migration that this program knows.
int expected_version();

// All migrations that either the program or the schema knows, by number. All are pending if there
// is no schema yet.
std::vector<MigrationStatus> migration_status(Connection& connection,
                                              KnownMigrations known = migrations());

// Applies what is pending, and returns the numbers. Refuses changed and unknown migrations.
// `applied` is called after each one.
std::vector<int> migrate_up(
    Connection& connection, KnownMigrations known = migrations(),
    const std::function<void(int)>& applied = [](int) {});

// DANGER: takes back everything above `target`; 0 leaves nothing of ours: fences, claims and dead
// letters are lost. `taken_back` is called after each one.
std::vector<int> migrate_down(
    Connection& connection, int target, KnownMigrations known = migrations(),
    const std::function<void(int)>& taken_back = [](int) {});

// Gives an existing role what a worker needs and nothing more (schemas/roles/worker.sql).
void grant_worker(Connection& connection, std::string_view role);

// The same for a role that pauses topics, moves fences and retires groups
// (schemas/roles/operator_role.sql).
void grant_operator(Connection& connection, std::string_view role);

// Gives an existing role the SQL functions of a ledger's inbox, for one operation or for all (`*`),
// and no right on any table. The ledger need not exist yet.
void grant_inbox(Connection& connection, std::string_view role, std::string_view ledger,
                 std::string_view operation);

// Throws a MigrationError unless the schema has exactly the version that this program expects.
// `newer`: whether a later version will do, which a process may meet during an upgrade.
enum class NewerSchema : std::uint8_t { refused, taken };
void require_version(Connection& connection, NewerSchema newer = NewerSchema::refused,
                     KnownMigrations known = migrations());

// Everything after migration `after` as a script for psql, bookkeeping included; with the grants
// if a role is named.
std::string migration_script(std::string_view schema, int after,
                             const std::optional<std::string>& role,
                             KnownMigrations known = migrations());

}  // namespace onceward
