#include "tests/support/postgres.h"

#include <libpq-fe.h>

#include <cstdlib>
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <utility>

#include "dedup/server/migration.h"
#include "lab/embedded/private_postgres.h"
#include "tests/support/eventually.h"
#include "tests/support/memory_folder.h"
#include "tests/support/scram_verifier.h"
#include "tests/support/unique.h"

namespace onceward::support {
namespace {

const char* given_server() { return std::getenv("ONCEWARD_TEST_POSTGRES"); }

// libpq takes the last of repeated keywords.
std::string as_worker(const std::string& dsn) {
    return dsn + " user=" + worker_role + " password=" + worker_password;
}

PostgresAddress in_database(const PostgresAddress& server, const std::string& name) {
    return {server.dsn + " dbname=" + name, server.worker_dsn + " dbname=" + name};
}

// By the product's own migration: a worker refuses a schema without the list of its migrations.
void migrate(const PostgresAddress& server, const std::string& schema) {
    ConnectionOptions owner;
    owner.dsn = server.dsn;
    owner.schema = schema;
    Connection connection(owner);
    // PostgreSQL needs 45 ms of processor time to check the functions' bodies of a schema.
    // migration_test and `onceward migrate up` have them checked.
    connection.execute("SET check_function_bodies = off");
    migrate_up(connection);
    grant_worker(connection, worker_role);
}

// Databases on the private server that are copies of one with a migrated schema. Thread-safe.
class SchemaCopies {
  public:
    SchemaCopies() : schema_(unique_name("test")), origin_(schema_ + "_origin") {
        session_.execute("CREATE DATABASE " + origin_);
        migrate(in_database(postgres(), origin_), schema_);
    }

    const std::string& schema() const { return schema_; }

    std::string next() {
        const std::lock_guard lock(mutex_);
        for (const std::string& name : std::exchange(given_back_, {})) drop(name);
        const std::string name = unique_name("test");
        session_.execute("CREATE DATABASE " + name + " TEMPLATE " + origin_);
        return name;
    }

    // The next copy drops it: while a session ends, PostgreSQL waits for 100 ms before it looks
    // again whether a database can be dropped.
    void give_back(const std::string& name) {
        const std::lock_guard lock(mutex_);
        given_back_.push_back(name);
    }

  private:
    void drop(const std::string& name) {
        try {
            session_.execute("DROP DATABASE " + name + " WITH (FORCE)");
        } catch (const DatabaseError& error) {
            std::cerr << "the database " << name << " was not dropped: " << error.what() << "\n";
        }
    }

    Database session_{postgres().dsn};
    std::string schema_;
    std::string origin_;
    std::mutex mutex_;
    std::vector<std::string> given_back_;
};

SchemaCopies& schema_copies() {
    static SchemaCopies copies;
    return copies;
}

std::string password_in(const std::string& dsn) {
    const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
        PQconninfoParse(dsn.c_str(), nullptr), &PQconninfoFree);
    for (const PQconninfoOption* one = options.get(); one && one->keyword; ++one) {
        if (std::string_view(one->keyword) == "password" && one->val) return one->val;
    }
    throw std::runtime_error("the private server has no password");
}

}  // namespace

void create_worker_role(const std::string& superuser_dsn) {
    Database database(superuser_dsn);
    // Two executables may share one server: under a lock, look, then create.
    database.execute(
        "BEGIN; SELECT pg_advisory_xact_lock(4711);"
        "DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '" +
        std::string(worker_role) + "') THEN CREATE ROLE " + worker_role + " LOGIN PASSWORD '" +
        scram_verifier(worker_password) + "'; END IF; END $$; COMMIT");
}

const PostgresAddress& postgres() {
    static std::unique_ptr<PrivatePostgres> server;
    static const PostgresAddress address = [] {
        const char* given = given_server();
        if (given == nullptr) {
            PrivatePostgresOptions options;
            options.parent = memory_folder();
            options.settings = {{"max_prepared_transactions", "4"}};
            server = std::make_unique<PrivatePostgres>(std::move(options));
            Database(server->dsn())
                .execute("ALTER ROLE postgres PASSWORD '" +
                         scram_verifier(password_in(server->dsn())) + "'");
        }
        const std::string dsn = given == nullptr ? server->dsn() : given;
        create_worker_role(dsn);
        return PostgresAddress{dsn, as_worker(dsn)};
    }();
    return address;
}

FreshSchema::FreshSchema() : server_(postgres()) {
    if (given_server() != nullptr) {
        name_ = unique_name("test");
        migrate(server_, name_);
    } else {
        copy_ = schema_copies().next();
        name_ = schema_copies().schema();
        server_ = in_database(server_, copy_);
    }
    connect();
}

FreshSchema::FreshSchema(PostgresAddress server)
    : server_(std::move(server)), name_(unique_name("test")) {
    if (server_.worker_dsn.empty()) server_.worker_dsn = as_worker(server_.dsn);
    migrate(server_, name_);
    connect();
}

FreshSchema::~FreshSchema() {
    if (!copy_.empty()) {
        schema_copies().give_back(copy_);
        return;
    }
    try {
        database_->execute("SET lock_timeout = '10s'; SET client_min_messages = error");
        database_->execute("DROP SCHEMA " + name_ + " CASCADE");
    } catch (const std::exception& error) {
        std::cerr << "the schema " << name_ << " was not dropped: " << error.what() << "\n";
    }
}

void FreshSchema::connect() {
    database_ = std::make_unique<Database>(server_.dsn);
    database_->execute("SET search_path = " + name_);
}

ConnectionOptions FreshSchema::worker() const {
    ConnectionOptions options;
    options.dsn = server_.worker_dsn;
    options.schema = name_;
    return options;
}

ConnectionOptions FreshSchema::owner() const {
    ConnectionOptions options;
    options.dsn = server_.dsn;
    options.schema = name_;
    return options;
}

std::string FreshSchema::user_table(const std::string& table, const std::string& columns) {
    const std::string qualified = name_ + "." + table;
    database_->execute("CREATE TABLE " + qualified + " (" + columns + "); GRANT SELECT, INSERT, " +
                       "UPDATE, DELETE ON " + qualified + " TO " + worker_role);
    return qualified;
}

bool commits_wait_for_a_standby(const std::string& superuser_dsn) {
    Database looker(superuser_dsn);
    return eventually(std::chrono::seconds(20), [&] {
        Database probe(superuser_dsn);
        auto commit = std::async(std::launch::async,
                                 [&] { probe.execute("COMMENT ON SCHEMA public IS 'probe'"); });
        bool waits = false;
        eventually(std::chrono::seconds(2), [&] {
            waits = looker.number(
                        "SELECT count(*) FROM pg_stat_activity WHERE wait_event = "
                        "'SyncRep'") > 0;
            return waits || commit.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
        });
        // The only thing that ends such a wait.
        looker.execute(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
        commit.get();
        return waits;
    });
}

}  // namespace onceward::support
