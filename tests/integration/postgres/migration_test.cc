// The schema's life cycle against a real server, and what the workers' role may do.

#include "dedup/server/migration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "dedup/server/server_session.h"
#include "tests/support/old_migrations.h"
#include "tests/support/postgres.h"
#include "tests/support/unique.h"

namespace onceward {
namespace {

using support::Database;
using support::DatabaseError;
using support::FreshSchema;

// A schema's name that nobody has migrated yet.
class EmptySchema {
  public:
    EmptySchema() : name_(support::unique_name("migration")), database_(support::postgres().dsn) {}
    ~EmptySchema() {
        database_.execute("SET client_min_messages = error; DROP SCHEMA IF EXISTS " + name_ +
                          " CASCADE");
    }
    ConnectionOptions options() const {
        ConnectionOptions options;
        options.dsn = support::postgres().dsn;
        options.schema = name_;
        return options;
    }
    const std::string& name() const { return name_; }
    Database& database() { return database_; }
    std::int64_t relations() {
        return database_.number(
            "SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('" + name_ + "')");
    }

  private:
    std::string name_;
    Database database_;
};

// What a later program knows: this one's migrations and one more.
std::vector<Migration> later_migrations(
    std::string_view up = "CREATE TABLE {schema}.later (a int);") {
    std::vector<Migration> known(migrations().begin(), migrations().end());
    known.push_back({expected_version() + 1, "later", up, "DROP TABLE {schema}.later;"});
    return known;
}

std::string complaint(const std::function<void()>& work) {
    try {
        work();
    } catch (const MigrationError& error) {
        return error.what();
    }
    return "nothing was refused";
}

// Tables, columns, constraints, indexes and functions of a schema, without its name.
std::string description(Database& database, const std::string& schema) {
    return database.value("SELECT string_agg(replace(line, '" + schema +
                          "', 'S'), E'\\n' ORDER BY line) FROM ("
                          "SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || "
                          "is_nullable || ' ' || "
                          "coalesce(column_default, '') AS line FROM information_schema.columns "
                          "WHERE table_schema = '" +
                          schema +
                          "' UNION ALL "
                          "SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint "
                          "WHERE connamespace = '" +
                          schema +
                          "'::regnamespace UNION ALL "
                          "SELECT indexdef FROM pg_indexes WHERE schemaname = '" +
                          schema +
                          "' UNION ALL "
                          "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = '" +
                          schema +
                          "'::regnamespace UNION ALL "
                          "SELECT checksum FROM " +
                          schema + ".schema_migrations) AS lines");
}

TEST(Migration, UpAppliesAllOnceAndRecordsThem) {
    EmptySchema schema;
    Connection connection(schema.options());
    EXPECT_EQ(migration_status(connection).front().standing, MigrationStatus::Standing::pending);
    EXPECT_EQ(migrate_up(connection).size(), migrations().size());
    EXPECT_TRUE(migrate_up(connection).empty());
    for (const MigrationStatus& status : migration_status(connection)) {
        EXPECT_EQ(status.standing, MigrationStatus::Standing::applied) << status.name;
        EXPECT_FALSE(status.applied_at.empty());
    }
    EXPECT_NO_THROW(require_version(connection));
}

TEST(Migration, UpOfALaterProgramAppliesWhatIsPending) {
    EmptySchema schema;
    Connection connection(schema.options());
    migrate_up(connection);
    const std::vector<Migration> later = later_migrations();
    const int number = later.back().number;
    EXPECT_EQ(migration_status(connection, later).back().standing,
              MigrationStatus::Standing::pending);
    EXPECT_EQ(migrate_up(connection, later), std::vector{number});
    EXPECT_EQ(migration_status(connection, later).back().standing,
              MigrationStatus::Standing::applied);
    EXPECT_NO_THROW(require_version(connection, NewerSchema::refused, later));
}

TEST(Migration, RunsAtTheSameTimeApplyEachOneOnce) {
    const std::vector<Migration> later = later_migrations();
    EmptySchema schema;
    std::atomic<std::size_t> applied{0};
    std::vector<std::jthread> runs;
    for (int run = 0; run < 4; ++run) {
        runs.emplace_back([&] {
            Connection connection(schema.options());
            applied += migrate_up(connection, later).size();
        });
    }
    runs.clear();
    EXPECT_EQ(applied, later.size());
    Connection connection(schema.options());
    EXPECT_NO_THROW(require_version(connection, NewerSchema::refused, later));
}

TEST(Migration, AFailedOneLeavesNothingOfItself) {
    EmptySchema schema;
    schema.database().execute("CREATE SCHEMA " + schema.name() + "; CREATE TABLE " + schema.name() +
                              ".skipped_ranges (mine integer)");
    Connection connection(schema.options());
    EXPECT_THROW(migrate_up(connection), PostgresError);
    EXPECT_EQ(schema.relations(), 1);
    schema.database().execute("DROP TABLE " + schema.name() + ".skipped_ranges");
    EXPECT_EQ(migrate_up(connection).size(), migrations().size());
}

TEST(Migration, AFailedOneLeavesTheOnesBeforeIt) {
    EmptySchema schema;
    Connection connection(schema.options());
    const auto failing = later_migrations("CREATE TABLE {schema}.half (a int); SELECT 1 / 0;");
    EXPECT_THROW(migrate_up(connection, failing), PostgresError);
    EXPECT_EQ(schema.database().number("SELECT count(*) FROM pg_tables WHERE tablename = 'half' "
                                       "AND schemaname = '" +
                                       schema.name() + "'"),
              0);
    EXPECT_NO_THROW(require_version(connection));
    EXPECT_EQ(migrate_up(connection, later_migrations()).size(), 1U);
}

TEST(Migration, AChangedTextIsRefused) {
    EmptySchema schema;
    Connection connection(schema.options());
    migrate_up(connection);
    schema.database().execute("UPDATE " + schema.name() +
                              ".schema_migrations SET checksum = 'other' WHERE number = 1");
    EXPECT_THAT(complaint([&] { migrate_up(connection); }), testing::HasSubstr("001_initial"));
    EXPECT_THAT(complaint([&] { migrate_down(connection, 0); }),
                testing::HasSubstr("another text"));
    EXPECT_THAT(complaint([&] { require_version(connection); }),
                testing::HasSubstr("another text"));
}

TEST(Migration, ASchemaOfBeforeTheReleaseIsRefusedWithWhatToDo) {
    EmptySchema schema;
    Connection connection(schema.options());
    migrate_up(connection);
    schema.database().execute(support::record_old_migrations(schema.name()));
    const std::vector<std::function<void()>> programs{
        [&] { migrate_up(connection); }, [&] { migrate_down(connection, 0); },
        [&] { migration_status(connection); }, [&] { require_version(connection); },
        [&] { require_version(connection, NewerSchema::taken); }};
    for (const auto& program : programs) {
        EXPECT_EQ(complaint(program), "schema " + schema.name() +
                                          " was made by a program from before the first release "
                                          "and cannot be upgraded; drop it and run `onceward "
                                          "migrate up` as its owner");
    }
    schema.database().execute("DROP SCHEMA " + schema.name() + " CASCADE");
    EXPECT_EQ(migrate_up(connection).size(), migrations().size());
}

TEST(Migration, ASchemaOfANewerProgramIsRefused) {
    EmptySchema schema;
    Connection connection(schema.options());
    const std::vector<Migration> later = later_migrations();
    migrate_up(connection, later);
    const std::string name = std::to_string(later.back().number) + "_later";
    EXPECT_THAT(complaint([&] { migrate_up(connection); }), testing::HasSubstr(name));
    EXPECT_THAT(complaint([&] { migrate_down(connection, 0); }), testing::HasSubstr(name));
    EXPECT_THAT(complaint([&] { require_version(connection); }),
                testing::HasSubstr("newer program"));
}

// Old processes run with the new ones while they are upgraded, and lose sessions as ever.
TEST(Migration, AProcessThatHasFittedTakesANewerSchema) {
    EmptySchema schema;
    Connection connection(schema.options());
    migrate_up(connection);
    ServerSession fitted({.connection = schema.options()});
    ServerSession new_one({.connection = schema.options()});
    fitted.open();
    fitted.end();
    migrate_up(connection, later_migrations());
    EXPECT_NO_THROW(fitted.open());
    EXPECT_THAT(complaint([&] { new_one.open(); }), testing::HasSubstr("newer program"));
}

TEST(Migration, AnOlderSchemaIsRefusedWithTheCommandThatHelps) {
    EmptySchema schema;
    Connection connection(schema.options());
    EXPECT_THAT(complaint([&] { require_version(connection); }),
                testing::HasSubstr("onceward migrate up"));
    migrate_up(connection);
    const std::vector<Migration> later = later_migrations();
    const auto refused = [&] { require_version(connection, NewerSchema::refused, later); };
    EXPECT_THAT(complaint(refused),
                testing::HasSubstr(std::to_string(expected_version() + 1) + "_later"));
    EXPECT_THAT(complaint(refused), testing::HasSubstr("onceward migrate up"));
}

TEST(Migration, DownToANumberTakesBackWhatIsAboveIt) {
    EmptySchema schema;
    Connection connection(schema.options());
    const std::vector<Migration> later = later_migrations();
    migrate_up(connection, later);
    EXPECT_EQ(migrate_down(connection, expected_version(), later),
              std::vector{later.back().number});
    EXPECT_TRUE(migrate_down(connection, expected_version(), later).empty());
    EXPECT_NO_THROW(require_version(connection)) << "as before the later one";
    EXPECT_EQ(migrate_up(connection, later).size(), 1U) << "its table is gone";
}

TEST(Migration, DownToNothingTakesGenerationsWithIt) {
    EmptySchema schema;
    Connection connection(schema.options());
    migrate_up(connection);
    schema.database().execute("INSERT INTO " + schema.name() +
                              ".ledgers (name, store, reach, retention) VALUES ('a', 'table', "
                              "'global', '1 day'), ('b', 'log', 'global', '1 day'); SELECT " +
                              schema.name() + ".begin_results(1), " + schema.name() +
                              ".rotate_ledger(1, 0), " + schema.name() + ".rotate_ledger(2, 0), " +
                              schema.name() + ".rotate_ledger(2, 1), " + schema.name() +
                              ".begin_segment(2, 1)");
    EXPECT_EQ(migrate_down(connection, 0).size(), migrations().size());
    EXPECT_EQ(schema.relations(), 0);
    EXPECT_EQ(schema.database().number("SELECT count(*) FROM pg_proc WHERE pronamespace = '" +
                                       schema.name() + "'::regnamespace"),
              0);
    EXPECT_EQ(migrate_up(connection).size(), migrations().size());
}

TEST(Migration, DownLeavesWhatTheMigrationsBeforeItMade) {
    const KnownMigrations all = migrations();
    for (std::size_t left = 1; left < all.size(); ++left) {
        EmptySchema before;
        EmptySchema back;
        Connection connection(before.options());
        migrate_up(connection, all.first(left));
        Connection other(back.options());
        migrate_up(other);
        EXPECT_EQ(migrate_down(other, all[left - 1].number).size(), all.size() - left);
        EXPECT_EQ(description(back.database(), back.name()),
                  description(before.database(), before.name()))
            << all[left - 1].name;
    }
}

TEST(Migration, TheScriptMakesTheSameSchemaAsUp) {
    EmptySchema by_up;
    EmptySchema by_script;
    Connection connection(by_up.options());
    migrate_up(connection);
    grant_worker(connection, support::worker_role);
    const std::string script =
        migration_script(by_script.name(), 0, std::string(support::worker_role));
    const std::string psql_only = "\\set ON_ERROR_STOP on\n";
    ASSERT_TRUE(script.starts_with(psql_only));
    by_script.database().execute(script.substr(psql_only.size()));
    EXPECT_EQ(description(by_script.database(), by_script.name()),
              description(by_up.database(), by_up.name()));
    ConnectionOptions as_worker = by_script.options();
    as_worker.dsn = support::postgres().worker_dsn;
    Connection worker(as_worker);
    EXPECT_NO_THROW(require_version(worker));
}

TEST(Migration, TheScriptAfterANumberHoldsWhatFollowsIt) {
    EmptySchema schema;
    Connection connection(schema.options());
    migrate_up(connection);
    const std::vector<Migration> later = later_migrations();
    const std::string script =
        migration_script(schema.name(), expected_version(), std::nullopt, later);
    EXPECT_THAT(script, testing::Not(testing::HasSubstr("001_initial")));
    schema.database().execute(script.substr(script.find('\n') + 1));
    EXPECT_NO_THROW(require_version(connection, NewerSchema::refused, later));
}

TEST(Migration, ANameThatWouldNeedQuotesIsRefused) {
    for (const char* name : {"", "Onceward", "on-ce", "1st", "pg_mine", "a.b", "order"}) {
        EmptySchema schema;
        ConnectionOptions options = schema.options();
        options.schema = name;
        Connection connection(options);
        EXPECT_THAT(complaint([&] { migrate_up(connection); }), testing::HasSubstr("schema's name"))
            << name;
    }
}

TEST(Migration, AWorkerWithoutGrantsIsToldWhatToAskFor) {
    EmptySchema schema;
    Connection owner(schema.options());
    migrate_up(owner);
    ConnectionOptions options = schema.options();
    options.dsn = support::postgres().worker_dsn;
    Connection worker(options);
    EXPECT_THAT(complaint([&] { require_version(worker); }), testing::HasSubstr("--grant-to"));
}

TEST(WorkerRole, HasTheDocumentedPrivilegesAndNoMore) {
    FreshSchema schema;
    const std::string privileges = schema.database().value(
        "SELECT string_agg(line, ' ' ORDER BY line) FROM (SELECT table_name || ':' || "
        "string_agg(privilege_type, ',' ORDER BY privilege_type) AS line "
        "FROM information_schema.role_table_grants WHERE grantee = 'onceward_test_worker' "
        "AND table_schema = '" +
        schema.name() + "' GROUP BY table_name) AS grants");
    EXPECT_EQ(privileges,
              "claims:INSERT,SELECT dead_letters:INSERT,SELECT evictions:SELECT "
              "fence_moves:INSERT,SELECT fences:INSERT,SELECT,UPDATE generations:SELECT "
              "imports:INSERT,SELECT,UPDATE "
              "leases:INSERT,SELECT,UPDATE ledger_feeds:INSERT,SELECT,UPDATE "
              "ledgers:INSERT,SELECT,UPDATE outbox:INSERT,SELECT "
              "partition_suspects:INSERT,SELECT,UPDATE replays:INSERT,SELECT "
              "schema_migrations:SELECT segment_parts:SELECT segments:SELECT "
              "skipped_ranges:INSERT,SELECT topic_pauses:SELECT");
}

TEST(WorkerRole, CannotMakeDropOrEmptyAnything) {
    FreshSchema schema;
    Database worker(schema.server().worker_dsn);
    worker.execute("SET search_path = " + schema.name());
    for (const char* statement :
         {"CREATE TABLE mine (a integer)", "DELETE FROM fences", "TRUNCATE dead_letters",
          "DROP TABLE claims", "UPDATE dead_letters SET reason = ''", "DELETE FROM generations",
          "UPDATE schema_migrations SET checksum = ''", "DELETE FROM outbox"}) {
        try {
            worker.execute(statement);
            ADD_FAILURE() << "allowed: " << statement;
        } catch (const DatabaseError& error) {
            EXPECT_EQ(error.sqlstate(), "42501") << statement;
        }
    }
}

TEST(WorkerRole, FunctionsAreForTheGrantedOnly) {
    FreshSchema schema;
    EXPECT_EQ(schema.database().number(
                  "SELECT count(*) FROM pg_proc p, aclexplode(p.proacl) a WHERE a.grantee = 0 AND "
                  "p.pronamespace = '" +
                  schema.name() + "'::regnamespace"),
              0);
    EXPECT_EQ(schema.database().number("SELECT count(*) FROM pg_proc WHERE proacl IS NULL AND "
                                       "pronamespace = '" +
                                       schema.name() + "'::regnamespace"),
              0);
}

}  // namespace
}  // namespace onceward
