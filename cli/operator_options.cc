#include "cli/operator_options.h"

#include "cli/configuration/load.h"
#include "dedup/migration.h"

namespace onceward {

void add_operator_options(CLI::App& command, OperatorOptions& options) {
    command.add_option("-c,--config", options.config, "The configuration")
        ->capture_default_str()
        ->each([&options](const std::string&) { options.config_given = true; });
    command.add_option(
        "--dsn", options.dsn,
        "PostgreSQL connection string, instead of the configuration's (a password is "
        "better left to PGPASSWORD or a password file)");
    command.add_option("--schema", options.schema, "The schema of Onceward's tables");
}

OperatorSetup operator_setup(const OperatorOptions& options, const std::string& command) {
    OperatorSetup setup;
    if (options.config_given || options.dsn.empty()) {
        setup.configuration = load_or_throw(options.config);
        setup.connection = setup.configuration->postgres;
    }
    if (!options.dsn.empty()) setup.connection.dsn = options.dsn;
    if (!options.schema.empty()) setup.connection.schema = options.schema;
    if (!valid_schema_name(setup.connection.schema)) {
        throw UsageError(
            "`" + setup.connection.schema +
            "` cannot be a schema's name: use a-z, 0-9 and _, not a digit or pg_ first");
    }
    setup.connection.application_name = "onceward " + command;
    // A look-up over many claims, or a migration, takes the time that it takes.
    setup.connection.statement_timeout = std::chrono::milliseconds(0);
    return setup;
}

std::string group_of(const OperatorSetup& setup, const std::string& named) {
    if (!named.empty()) return named;
    if (setup.configuration) return setup.configuration->group;
    throw UsageError("which consumer group? Name it with --group, or give a configuration with -c");
}

}  // namespace onceward
