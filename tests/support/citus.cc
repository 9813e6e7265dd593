#include "tests/support/citus.h"

#include <cstdlib>
#include <iostream>

#include "tests/support/unique.h"

namespace onceward::support {
namespace {

// As in Citus 13.2; a superuser may create tables there with allow_system_table_mods. `partkey` is
// the column's name here, and an expression's tree there.
constexpr const char* catalog = R"sql(
SET allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition (
    logicalrelid regclass NOT NULL, partmethod "char" NOT NULL, partkey text,
    colocationid integer NOT NULL DEFAULT 0, repmodel "char" NOT NULL,
    autoconverted boolean NOT NULL DEFAULT false);
GRANT SELECT ON pg_catalog.pg_dist_partition TO PUBLIC;
CREATE FUNCTION pg_catalog.column_to_column_name(regclass, text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $2';
)sql";

}  // namespace

bool on_citus() { return std::getenv("ONCEWARD_TEST_CITUS") != nullptr; }

bool distributed_on_citus(FreshSchema& schema, const std::string& table,
                          const std::string& column) {
    if (!on_citus()) return false;
    schema.database().execute("SELECT create_distributed_table($1::text::regclass, $2)",
                              {table, column});
    return true;
}

void refuse_all_but_values(FreshSchema& schema, const std::string& table) {
    schema.database().execute(
        "CREATE FUNCTION only_values() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "IF current_query() !~ '(VALUES|IN \\() ?\\(\\$1' THEN "
        "RAISE EXCEPTION 'not by VALUES: %', current_query() USING ERRCODE = 'XX000'; END IF; "
        "RETURN NULL; END $$;"
        "CREATE TRIGGER only_values BEFORE INSERT OR UPDATE OR DELETE ON " +
        table + " FOR EACH STATEMENT EXECUTE FUNCTION only_values()");
}

PretendedCitus::PretendedCitus() : name_(unique_name("pretended")) {
    Database(postgres().dsn).execute("CREATE DATABASE " + name_ + " TEMPLATE template0");
    // libpq takes the last of repeated keywords.
    server_.dsn = postgres().dsn + " dbname=" + name_;
    server_.worker_dsn = postgres().worker_dsn + " dbname=" + name_;
    Database(server_.dsn).execute(catalog);
}

PretendedCitus::~PretendedCitus() {
    try {
        Database(postgres().dsn).execute("DROP DATABASE " + name_ + " WITH (FORCE)");
    } catch (const std::exception& error) {
        std::cerr << "the database " << name_ << " was not dropped: " << error.what() << "\n";
    }
}

void PretendedCitus::manage(const std::string& table, const std::string& column,
                            const std::string& method, const std::string& model, int colocation) {
    Database(server_.dsn)
        .execute("INSERT INTO pg_catalog.pg_dist_partition VALUES ($1::text::regclass, "
                 "$2::text::\"char\", nullif($3, ''), $4::text::integer, $5::text::\"char\")",
                 {table, method, column, std::to_string(colocation), model});
}

}  // namespace onceward::support
