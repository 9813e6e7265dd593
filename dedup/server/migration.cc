#include "dedup/server/migration.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <map>

#include "dedup/base/mutants.h"
#include "dedup/message/digest.h"
#include "dedup/postgres/transaction.h"
#include "schemas/queries.h"
#include "schemas/roles.h"

namespace onceward {
namespace {

// The checksum of the first of the seventeen migrations that 001_initial replaced.
constexpr std::string_view before_the_release =
    "e5d9c580fc3458c2e22a744c97f5e668fd55991f41f56af10b0306a40c278eda";

std::string checksum(const Migration& migration) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int length = 0;
    if (EVP_Digest(migration.up.data(), migration.up.size(), digest.data(), &length, EVP_sha256(),
                   nullptr) != 1) {
        throw std::runtime_error("OpenSSL has no SHA-256");
    }
    return hex(std::string_view(reinterpret_cast<const char*>(digest.data()), length));
}

std::string for_migration(std::string_view statement, const Migration& migration) {
    std::string text =
        replaced(std::string(statement), "{number}", std::to_string(migration.number));
    text = replaced(std::move(text), "{name}", migration.name);
    return replaced(std::move(text), "{checksum}", checksum(migration));
}

std::string title(int number, std::string_view name) {
    const std::string digits = std::to_string(number);
    return std::string(digits.size() < 3 ? 3 - digits.size() : 0, '0') + digits + "_" +
           std::string(name);
}

// REQUIRES: the table of migrations exists.
std::vector<MigrationStatus> compared(Connection& connection, KnownMigrations program) {
    const QueryResult applied = connection.query(sql::migration_applied, {});
    std::map<int, MigrationStatus> merged;
    std::map<int, std::string> checksums;
    for (const Migration& migration : program) {
        merged[migration.number] = {migration.number, std::string(migration.name),
                                    MigrationStatus::Standing::pending, ""};
        checksums[migration.number] = checksum(migration);
    }
    for (int row = 0; row < applied.rows(); ++row) {
        if (applied.text(row, 2) == before_the_release) {
            throw MigrationError("schema " + connection.schema() +
                                 " was made by a program from before the first release and cannot "
                                 "be upgraded; drop it and run `onceward migrate up` as its owner");
        }
        const int number = static_cast<int>(applied.integer(row, 0));
        const auto known = checksums.find(number);
        const bool same = known != checksums.end() && known->second == applied.text(row, 2);
        merged[number] = {number, std::string(applied.text(row, 1)),
                          known == checksums.end() ? MigrationStatus::Standing::unknown
                          : same                   ? MigrationStatus::Standing::applied
                                                   : MigrationStatus::Standing::changed,
                          std::string(applied.text(row, 3))};
    }
    std::vector<MigrationStatus> statuses;
    for (const auto& entry : merged) statuses.push_back(entry.second);
    return statuses;
}

void refuse_foreign(const std::vector<MigrationStatus>& statuses, const std::string& schema,
                    KnownMigrations known, NewerSchema newer = NewerSchema::refused) {
    for (const MigrationStatus& status : statuses) {
        switch (status.standing) {
            case MigrationStatus::Standing::applied:
            case MigrationStatus::Standing::pending: break;
            case MigrationStatus::Standing::changed:
                throw MigrationError(
                    "migration " + title(status.number, status.name) + " of schema " + schema +
                    " was applied with another text than this program has; use the program that "
                    "applied it, or a schema of another name");
            case MigrationStatus::Standing::unknown:
                if (newer == NewerSchema::taken) break;
                throw MigrationError("schema " + schema + " has migration " +
                                     title(status.number, status.name) +
                                     ", which this program does not know (it ends at " +
                                     std::to_string(known.back().number) +
                                     "); use the newer program that applied it");
        }
    }
}

void require_schema_name(Connection& connection) {
    const std::string& schema = connection.schema();
    if (!valid_schema_name(schema) ||
        !connection.query(sql::migration_schema_name, {schema}).boolean(0, 0)) {
        throw MigrationError("`" + schema +
                             "` cannot be the schema's name: use a-z, 0-9 and _, not a "
                             "digit or pg_ first, no reserved word, 40 characters at most");
    }
}

void lock(Connection& connection) {
    try {
        connection.execute(sql::migration_lock);
    } catch (const PostgresError& error) {
        if (error.sqlstate() != sqlstate::lock_not_available) throw;
        throw MigrationError("another migration of schema " + connection.schema() +
                             " is running; try again when it has ended");
    }
}

bool prepared(Connection& connection) {
    return connection.query(sql::migration_exists, {}).boolean(0, 0);
}

std::optional<int> apply_next(Connection& connection, KnownMigrations known) {
    OwnedTransaction transaction(connection);
    lock(connection);
    connection.execute(sql::migration_prepare);
    const auto statuses = compared(connection, known);
    refuse_foreign(statuses, connection.schema(), known);
    for (const Migration& migration : known) {
        const auto status = std::ranges::find(statuses, migration.number, &MigrationStatus::number);
        if (status->standing != MigrationStatus::Standing::pending) continue;
        connection.execute(without_rotation_lock(migration.up));
        connection.execute(for_migration(sql::migration_record, migration));
        transaction.commit();
        return migration.number;
    }
    return std::nullopt;
}

std::optional<int> take_back_last(Connection& connection, int target, KnownMigrations known) {
    OwnedTransaction transaction(connection);
    lock(connection);
    if (!prepared(connection)) return std::nullopt;
    const auto statuses = compared(connection, known);
    refuse_foreign(statuses, connection.schema(), known);
    for (auto migration = known.rbegin(); migration != known.rend(); ++migration) {
        const auto status =
            std::ranges::find(statuses, migration->number, &MigrationStatus::number);
        if (status->standing == MigrationStatus::Standing::pending) continue;
        if (migration->number <= target) return std::nullopt;
        connection.execute(migration->down);
        connection.execute(for_migration(sql::migration_forget, *migration));
        if (migration->number == 1) connection.execute(sql::migration_remove);
        transaction.commit();
        return migration->number;
    }
    return std::nullopt;
}

void grant(Connection& connection, std::string_view grants, std::string_view role) {
    OwnedTransaction transaction(connection);
    lock(connection);
    connection.execute(replaced(std::string(grants), "{role}", connection.quote_identifier(role)));
    transaction.commit();
}

}  // namespace

std::string_view to_text(MigrationStatus::Standing standing) {
    constexpr std::array<std::string_view, 4> names{"applied", "pending", "changed", "unknown"};
    return names.at(static_cast<std::size_t>(standing));
}

bool valid_schema_name(std::string_view schema) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
    return !schema.empty() && schema.size() <= 40 && letter(schema.front()) &&
           !schema.starts_with("pg_") &&
           std::ranges::all_of(schema, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

int expected_version() { return migrations().back().number; }

std::vector<MigrationStatus> migration_status(Connection& connection, KnownMigrations known) {
    require_schema_name(connection);
    if (prepared(connection)) return compared(connection, known);
    std::vector<MigrationStatus> statuses;
    for (const Migration& migration : known) {
        statuses.push_back({migration.number, std::string(migration.name),
                            MigrationStatus::Standing::pending, ""});
    }
    return statuses;
}

std::vector<int> migrate_up(Connection& connection, KnownMigrations known,
                            const std::function<void(int)>& applied) {
    require_schema_name(connection);
    std::vector<int> all;
    while (const auto number = apply_next(connection, known)) {
        all.push_back(*number);
        applied(*number);
    }
    return all;
}

std::vector<int> migrate_down(Connection& connection, int target, KnownMigrations known,
                              const std::function<void(int)>& taken_back) {
    require_schema_name(connection);
    std::vector<int> all;
    while (const auto number = take_back_last(connection, target, known)) {
        all.push_back(*number);
        taken_back(*number);
    }
    return all;
}

void grant_worker(Connection& connection, std::string_view role) {
    grant(connection, roles::worker, role);
}

void grant_operator(Connection& connection, std::string_view role) {
    grant(connection, roles::operator_role, role);
}

void grant_inbox(Connection& connection, std::string_view role, std::string_view ledger,
                 std::string_view operation) {
    OwnedTransaction transaction(connection);
    transaction.query(sql::inbox_grant, {role, ledger, operation});
    transaction.commit();
}

void require_version(Connection& connection, NewerSchema newer, KnownMigrations known) {
    const std::string& schema = connection.schema();
    const std::string remedy = "; run `onceward migrate up` as the schema's owner";
    try {
        if (!prepared(connection)) {
            throw MigrationError("there is no Onceward schema `" + schema + "` in this database" +
                                 remedy);
        }
        const auto statuses = compared(connection, known);
        refuse_foreign(statuses, schema, known, newer);
        for (const MigrationStatus& status : statuses) {
            if (status.standing == MigrationStatus::Standing::pending) {
                throw MigrationError("schema " + schema + " lacks migration " +
                                     title(status.number, status.name) + remedy);
            }
        }
    } catch (const PostgresError& error) {
        if (error.sqlstate() != "42501") throw;
        throw MigrationError("this role may not use schema " + schema + ": " +
                             error.diagnosis().message +
                             "; run `onceward migrate up --grant-to ROLE` as the schema's owner, "
                             "or with --grant-operator-to for the role of a person on call");
    }
}

std::string migration_script(std::string_view schema, int after,
                             const std::optional<std::string>& role, KnownMigrations known) {
    if (!valid_schema_name(schema)) {
        throw MigrationError("`" + std::string(schema) +
                             "` cannot be the schema's name: use a-z, 0-9 "
                             "and _, not a digit or pg_ first, 40 characters at most");
    }
    // A failed statement must end the script: psql would continue with the next migration.
    std::string script = "\\set ON_ERROR_STOP on\n";
    const auto step = [&](std::string_view heading, std::string_view body) {
        script.append("\n-- ").append(heading).append("\nBEGIN;\n").append(sql::migration_lock);
        script.append(body).append("COMMIT;\n");
    };
    step("The schema and the list of its migrations", sql::migration_prepare);
    for (const Migration& migration : known) {
        if (migration.number <= after) continue;
        step(title(migration.number, migration.name),
             without_rotation_lock(migration.up) + for_migration(sql::migration_record, migration));
    }
    if (role) {
        const std::string quoted = "\"" + replaced(*role, "\"", "\"\"") + "\"";
        step("The workers' role", replaced(std::string(roles::worker), "{role}", quoted));
    }
    return replaced(std::move(script), "{schema}", schema);
}

}  // namespace onceward
