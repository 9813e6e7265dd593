#include "tests/faults/campaign/core/seed_schema.h"

#include <iostream>

#include "dedup/server/migration.h"
#include "tests/support/citus.h"
#include "tests/support/unique.h"

namespace onceward::campaign::core {
namespace {

// Refuses what the workload's poison holds, each in its own way. `raise_state` fails with any
// SQLSTATE.
constexpr const char* user_tables = R"sql(
CREATE TABLE effects (
    message_id bigint NOT NULL,
    key bytea NOT NULL,
    kafka_partition integer NOT NULL,
    kafka_offset bigint NOT NULL,
    amount integer NOT NULL CONSTRAINT amount_natural CHECK (amount >= 0),
    landed bigint GENERATED ALWAYS AS IDENTITY
);
)sql";

constexpr const char* refusals = R"sql(
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'this amount is refused';
END
$$;
CREATE TRIGGER refused BEFORE INSERT ON effects FOR EACH ROW WHEN (NEW.amount = 666)
    EXECUTE FUNCTION refuse();
CREATE CONSTRAINT TRIGGER refused_late AFTER INSERT ON effects DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.amount = 777) EXECUTE FUNCTION refuse();
)sql";

// A distributed table has no triggers and no xmin that tells the coordinator's transaction.
constexpr const char* distribution = R"sql(
ALTER TABLE effects ADD CHECK (amount NOT IN (666, 777)),
    ADD transaction bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint;
SELECT create_distributed_table('effects', 'message_id');
)sql";

constexpr const char* raising = R"sql(
CREATE FUNCTION raise_state(state text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'injected' USING ERRCODE = state;
END
$$;
)sql";

}  // namespace

SeedSchema::SeedSchema(support::PostgresAddress server, std::uint64_t seed)
    : server_(std::move(server)),
      name_(support::unique_name("core_" + std::to_string(seed % 1'000'000'000))) {
    std::string script = migration_script(name_, 0, std::string(support::worker_role));
    script.erase(0, script.find('\n') + 1);  // the line for psql
    script += "SET search_path = " + name_ + ";" + user_tables;
    script += support::on_citus() ? distribution : refusals;
    script += raising;
    script += "GRANT SELECT, INSERT ON effects TO " + std::string(support::worker_role) + ";";
    support::Database database(server_.dsn);
    database.execute("SET client_min_messages = error");
    database.execute(script);
}

SeedSchema::~SeedSchema() {
    if (leave_) return;
    try {
        support::Database database(server_.dsn);
        database.execute("SET lock_timeout = '10s'; SET client_min_messages = error");
        database.execute("DROP SCHEMA " + name_ + " CASCADE");
    } catch (const std::exception& error) {
        std::cerr << "the schema " << name_ << " was not dropped: " << error.what() << "\n";
    }
}

ConnectionOptions SeedSchema::worker(std::uint16_t port) const {
    ConnectionOptions options;
    options.dsn = server_.worker_dsn;
    if (port != 0) {
        options.dsn =
            server_.worker_dsn + " sslmode=disable host=127.0.0.1 port=" + std::to_string(port);
    }
    options.schema = name_;
    return options;
}

std::unique_ptr<support::Database> SeedSchema::open() const {
    auto database = std::make_unique<support::Database>(server_.dsn);
    database->execute("SET search_path = " + name_);
    return database;
}

}  // namespace onceward::campaign::core
