#include "cli/operator/operator_options.h"

#include "cli/configuration/load.h"
#include "cli/operator/actor.h"
#include "cli/terminal/help.h"
#include "cli/terminal/option_checks.h"
#include "cli/terminal/output.h"
#include "dedup/server/migration.h"

namespace onceward {
namespace {

bool has_source(const Configuration& part, const std::string& name) {
    const auto is_named = [&](const auto& route) { return route.second.name == name; };
    return std::ranges::find(part.topics, name, &TopicConfiguration::name) != part.topics.end() ||
           std::ranges::any_of(part.route_sinks, is_named) ||
           std::ranges::any_of(part.route_upstreams, is_named);
}

// The servers of the configuration that the command is for.
std::vector<Configuration> wanted(const OperatorOptions& options, const std::string& source,
                                  const Configuration& configuration) {
    std::vector<Configuration> parts = used_databases(configuration);
    const auto keep = [&](const auto& is_wanted) {
        std::erase_if(parts, [&](const Configuration& part) { return !is_wanted(part); });
    };
    if (!options.database.empty()) {
        keep([&](const Configuration& part) { return part.database == options.database; });
        usage_error_if(parts.empty(),
                       "the configuration has no topic or route on a database " + options.database);
        return parts;
    }
    const auto has_it = [&](const Configuration& part) { return has_source(part, source); };
    if (std::ranges::any_of(parts, has_it)) {
        keep(has_it);
    } else if (is_route_name(source)) {
        // Checked before the server is looked up: the route may not exist, or may claim nothing.
        static_cast<void>(scope_of(configuration, route_named(configuration, source)));
    }
    return parts;
}

UsageError name_one(const std::string& why) {
    return UsageError(why + ": name one of the configuration's databases with --database");
}

// 42501 is the SQLSTATE if the role lacks a right.
bool tells_missing_right(const std::exception& error) {
    const auto* postgres = dynamic_cast<const PostgresError*>(&error);
    return postgres != nullptr && postgres->sqlstate() == "42501";
}

}  // namespace

void add_operator_options(CLI::App& command, OperatorOptions& options) {
    add_config_option(command, options.config)->group(place_options);
    command
        .add_option("--dsn", options.dsn,
                    "PostgreSQL connection string, instead of the configuration's (a password is "
                    "better left to PGPASSWORD or a password file)")
        ->type_name("DSN")
        ->check(connection_string())
        ->group(place_options);
    command
        .add_option("--schema", options.schema,
                    "The schema of Onceward's tables; default: the configuration's, else "
                    "`onceward`")
        ->type_name("NAME")
        ->check(not_empty("a schema"))
        ->group(place_options);
    command
        .add_option("--database", options.database,
                    "Only this PostgreSQL server of the configuration: `postgres` or a name in "
                    "`databases`; default: the topic's, else all")
        ->type_name("NAME")
        ->check(not_empty("a database"))
        ->group(place_options);
}

void add_group_option(CLI::App& command, OperatorOptions& options) {
    command
        .add_option("--group", options.group, "The consumer group; default: the configuration's")
        ->type_name("NAME")
        ->check(not_empty("a group"))
        ->group(place_options);
}

void add_yes_flag(CLI::App& command, OperatorOptions& options) {
    command.add_flag("--yes", options.yes, "Do it; otherwise only show what would happen");
}

void add_json_flag(CLI::App& command, OperatorOptions& options) {
    command.add_flag("--json", options.json, "Print JSON, and errors as JSON");
}

void add_key_question(CLI::App& command, OperatorOptions& options, KeyQuestion& question) {
    // DANGER: without a key `forget` erases all results of a tenant, and without a topic in all
    // ledgers. An empty variable must not cause that.
    command.add_option("key", question.key, "The key as the message carries it")
        ->required()
        ->check(not_empty("a key"));
    CLI::Option* topic = command.add_option("--topic", question.topic, "The topic of the message")
                             ->type_name("NAME")
                             ->check(not_empty("a topic"));
    command
        .add_option("--route", question.route,
                    "The route of the request, as `onceward describe` names it, such as `POST "
                    "/orders/{id}`")
        ->excludes(topic)
        ->type_name("ROUTE")
        ->check(not_empty("a route"));
    add_operator_options(command, options);
    command
        .add_option("--group", question.group,
                    "The consumer group; needed without a configuration")
        ->type_name("NAME")
        ->check(not_empty("a group"))
        ->group(place_options);
    command
        .add_option("--operation", question.operation,
                    "The key's operation; default: the configuration's, else GROUP/TOPIC. Without "
                    "--topic and --route: that of a call of once()")
        ->check(not_empty("an operation"));
    command.add_option("--tenant", question.tenant, "The key's tenant")
        ->check(not_empty("a tenant"));
    command
        .add_option("--kind", question.kinds,
                    "Where the key came from, such as header:Idempotency-Key, field:/id or "
                    "record_key; default: every kind of the configuration, `once` of a call of "
                    "once()")
        ->check(not_empty("a kind"));
    command
        .add_option("--source", question.cloudevents_source,
                    "A CloudEvent's source; KEY is then its id")
        ->check(not_empty("a source"));
    command.add_flag("--digest", question.is_digest, "KEY is a digest, as the logs print it");
}

CLI::Option* offer_reason(CLI::App& command, std::string& reason, const std::string& kept_in) {
    return command
        .add_option("--reason", reason, "Why you do this; kept in " + kept_in)
        ->check(not_empty("a reason"));
}

void add_reason(CLI::App& command, std::string& reason, const std::string& kept_in) {
    offer_reason(command, reason, kept_in)->required();
}

std::vector<OperatorSetup> operator_setups(const OperatorOptions& options,
                                           const std::string& command, const std::string& source) {
    std::vector<OperatorSetup> setups;
    if (options.config.is_named() || options.dsn.empty() || !options.database.empty()) {
        const Configuration configuration = load_or_throw(options.config.path());
        for (const Configuration& part : wanted(options, source, configuration)) {
            setups.push_back({part.postgres, part.database, configuration});
        }
    } else {
        setups.emplace_back();
    }
    if (!options.dsn.empty() && setups.size() > 1) throw name_one("--dsn is one server");
    for (OperatorSetup& setup : setups) {
        if (!options.dsn.empty()) setup.connection.dsn = options.dsn;
        if (!options.schema.empty()) setup.connection.schema = options.schema;
        usage_error_if(
            !valid_schema_name(setup.connection.schema),
            "`" + setup.connection.schema +
                "` cannot be a schema's name: use a-z, 0-9 and _, not a digit or pg_ first");
        setup.connection.application_name = "onceward " + command;
        setup.actor = to_setting(this_user(options.reason));
        // A look-up over many claims, or a migration, takes the time that it takes.
        setup.connection.statement_timeout = std::chrono::milliseconds(0);
    }
    return setups;
}

OperatorSetup operator_setup(const OperatorOptions& options, const std::string& command,
                             const std::string& source) {
    std::vector<OperatorSetup> setups = operator_setups(options, command, source);
    usage_error_if(setups.empty(),
                   "the configuration has nothing in PostgreSQL: its routes lead to topics");
    if (setups.size() > 1) throw name_one("this is for one server");
    return std::move(setups.front());
}

Connection migrating_session(const OperatorSetup& setup) {
    return acting_session(setup.connection, setup.actor);
}

Connection writing_session(const OperatorSetup& setup) {
    Connection connection = migrating_session(setup);
    require_version(connection);
    return connection;
}

Connection reading_session(const OperatorSetup& setup) {
    Connection connection(setup.connection);
    require_version(connection);
    return connection;
}

void tell_missing_right(const std::exception& error) {
    warn_if(tells_missing_right(error), missing_right_hint);
}

int on_each(const std::vector<OperatorSetup>& setups,
            const std::function<int(const OperatorSetup&)>& work) {
    int code = exit_ok;
    for (const OperatorSetup& setup : setups) {
        try {
            code = std::max(code, work(setup));
        } catch (const std::runtime_error& error) {
            if (setups.size() == 1) throw;
            warn(database_text(setup.database) + ": " + error.what());
            tell_missing_right(error);
            code = exit_failure;
        }
    }
    return code;
}

Collected collect(const std::vector<OperatorSetup>& setups,
                  const std::function<nlohmann::json(const OperatorSetup&)>& work) {
    Collected found;
    found.code = on_each(setups, [&](const OperatorSetup& setup) {
        for (nlohmann::json& row : work(setup)) {
            row["database"] = setup.database;
            found.rows.push_back(std::move(row));
        }
        return exit_ok;
    });
    return found;
}

int exit_of_run(bool finished) {
    if (finished) return exit_ok;
    warn("interrupted; run it again to continue");
    return exit_interrupted;
}

std::string group_of(const OperatorSetup& setup, const std::string& named) {
    if (!named.empty()) return named;
    if (setup.configuration) return setup.configuration->group;
    throw UsageError("which consumer group? Name it with --group, or give a configuration with -c");
}

const Configuration& configuration_of(const OperatorSetup& setup, const std::string& why) {
    if (!setup.configuration) throw UsageError(why);
    return *setup.configuration;
}

}  // namespace onceward
