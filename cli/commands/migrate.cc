// `onceward migrate`: Onceward's own schema up, down, its state, and as a script for teams whose
// DBA runs DDL.

#include <algorithm>
#include <iostream>

#include "cli/commands/commands.h"
#include "cli/operator/operator_options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/help.h"
#include "cli/terminal/option_checks.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "dedup/server/migration.h"
#include "schemas/queries.h"

namespace onceward {
namespace {

struct MigrateOptions : OperatorOptions {
    std::string grant_to;
    std::string grant_operator_to;
    std::string grant_inbox_to;
    std::string ledger;
    std::string operation = "*";
    int target = -1;
    int after = 0;
};

std::string numbers(const std::vector<int>& applied) {
    std::string text;
    for (const int number : applied) text += (text.empty() ? "" : ", ") + std::to_string(number);
    return text;
}

// A role that does not exist is found before the first migration, since its grants come last.
void require_roles(const MigrateOptions& options, const OperatorSetup& setup) {
    std::vector<std::string> roles{options.grant_to, options.grant_operator_to,
                                   options.grant_inbox_to};
    std::erase(roles, "");
    if (roles.empty()) return;
    Connection connection = migrating_session(setup);
    for (const std::string& role : roles) {
        if (connection.query(sql::role_exists, {role}).boolean(0, 0)) continue;
        throw UsageError(database_text(setup.database) + " has no role " + role +
                         ", so nothing was migrated");
    }
}

std::vector<int> apply_pending(Connection& connection) {
    const std::vector<MigrationStatus> before = migration_status(connection);
    const std::int64_t pending = std::ranges::count(before, MigrationStatus::Standing::pending,
                                                    &MigrationStatus::standing);
    if (pending == 0) return migrate_up(connection);
    Progress progress("migrate up", "migrations");
    std::int64_t done = 0;
    progress.of(done, pending);
    return migrate_up(connection, migrations(), [&](int) { progress.of(++done, pending); });
}

// What was granted to whom, a sentence each.
std::vector<std::string> grant_all(const MigrateOptions& options, Connection& connection) {
    std::vector<std::string> granted;
    if (!options.grant_to.empty()) {
        grant_worker(connection, options.grant_to);
        granted.push_back("granted to " + options.grant_to + " what a worker needs");
    }
    if (!options.grant_operator_to.empty()) {
        grant_operator(connection, options.grant_operator_to);
        granted.push_back("granted to " + options.grant_operator_to + " what an operator needs");
    }
    if (!options.grant_inbox_to.empty()) {
        grant_inbox(connection, options.grant_inbox_to, options.ledger, options.operation);
        granted.push_back("granted to " + options.grant_inbox_to + " the inbox of ledger " +
                          options.ledger + " for " +
                          (options.operation == "*" ? "all operations" : options.operation));
    }
    return granted;
}

// `begin`: what each line of one server begins with; a single server needs no name.
nlohmann::json up_on(const MigrateOptions& options, const OperatorSetup& setup,
                     const std::string& begin) {
    Connection connection = migrating_session(setup);
    const std::vector<int> applied = apply_pending(connection);
    const std::vector<std::string> granted = grant_all(options, connection);
    if (!options.json) {
        std::cout << begin << "schema " << connection.schema() << " is at version "
                  << expected_version()
                  << (applied.empty() ? "; nothing was pending" : "; applied " + numbers(applied))
                  << '\n';
        for (const std::string& line : granted) std::cout << begin << line << '\n';
    }
    return {{"database", setup.database},  {"schema", connection.schema()},
            {"version", expected_version()}, {"applied", applied},
            {"granted", granted}};
}

int up(const MigrateOptions& options) {
    const std::vector<OperatorSetup> setups = operator_setups(options, "migrate");
    for (const OperatorSetup& setup : setups) {
        try {
            require_roles(options, setup);
        } catch (const UsageError&) {
            throw;
        } catch (const std::runtime_error&) {
            // This server's own turn says what is wrong with it, and the others have theirs.
        }
    }
    nlohmann::json all = nlohmann::json::array();
    const int code = on_each(setups, [&](const OperatorSetup& setup) {
        all.push_back(
            up_on(options, setup, setups.size() > 1 ? database_text(setup.database) + ": " : ""));
        return exit_ok;
    });
    if (options.json) print_json(all);
    return code;
}

// Each migration is a transaction of its own, so those before the one that failed stay taken back.
std::vector<int> take_back(Connection& connection, int target) {
    std::vector<int> done;
    try {
        return migrate_down(connection, target, migrations(),
                            [&](int number) { done.push_back(number); });
    } catch (const std::exception&) {
        warn_if(!done.empty(), "took back " + numbers(done) + " before it failed; workers of this "
                                   "program refuse the schema until `onceward migrate up`");
        throw;
    }
}

int down(const MigrateOptions& options) {
    Connection connection = migrating_session(operator_setup(options, "migrate"));
    std::vector<int> taken_back;
    for (const MigrationStatus& status : migration_status(connection)) {
        if (status.number > options.target &&
            status.standing != MigrationStatus::Standing::pending) {
            taken_back.push_back(status.number);
        }
    }
    if (options.yes) taken_back = take_back(connection, options.target);
    const std::string which = taken_back.empty() ? "nothing" : numbers(taken_back);
    print_answer(options.json,
                 {{"schema", connection.schema()},
                  {"migrations", taken_back},
                  {"done", options.yes}},
                 options.yes ? "schema {schema}: took back " + which + "\n"
                             : "would take back " + which +
                                   " from schema {schema}; stop the workers first. Taking back 3 "
                                   "deletes the audit log, and 1 every fence, claim and dead "
                                   "letter. Do it with --yes\n");
    return exit_ok;
}

int status_on(const MigrateOptions& options, const OperatorSetup& setup) {
    Connection connection(setup.connection);
    bool complete = true;
    nlohmann::json list = nlohmann::json::array();
    for (const MigrationStatus& entry : migration_status(connection)) {
        complete = complete && entry.standing == MigrationStatus::Standing::applied;
        list.push_back({{"number", entry.number},
                        {"name", entry.name},
                        {"standing", to_text(entry.standing)},
                        {"applied_at", entry.applied_at}});
    }
    if (options.json) {
        print_json({{"schema", connection.schema()}, {"complete", complete}, {"migrations", list}});
    } else {
        print_table({"number", "name", "standing", "applied at=applied_at"}, list);
    }
    return complete ? exit_ok : exit_failure;
}

int status(const MigrateOptions& options) {
    const std::vector<OperatorSetup> setups = options.json
                                                  ? std::vector{operator_setup(options, "migrate")}
                                                  : operator_setups(options, "migrate");
    return on_each(setups, [&](const OperatorSetup& setup) {
        if (setups.size() > 1) std::cout << database_text(setup.database) << ":\n";
        return status_on(options, setup);
    });
}

int script(const MigrateOptions& options) {
    std::string schema = options.schema;
    if (schema.empty()) {
        schema = options.config.is_named() ? operator_setup(options, "migrate").connection.schema
                                      : ConnectionOptions{}.schema;
    }
    std::cout << migration_script(schema, options.after, unless_empty(options.grant_to));
    return exit_ok;
}

}  // namespace

void add_migrate(CLI::App& program, Commands& commands) {
    CLI::App* command = program.add_subcommand("migrate", "Bring Onceward's own schema up or down");
    command->require_subcommand(1);
    auto options = std::make_shared<MigrateOptions>();
    const auto add = [&](const char* name, const char* text, int (*work)(const MigrateOptions&)) {
        return add_operator_command(*command, commands, name, text, options, work);
    };
    const char* grant = "Grant this existing role what a worker needs, and nothing more";
    CLI::App* forward = add("up", "Apply what is pending; safe to run twice at once", up);
    forward->add_option("--grant-to", options->grant_to, grant)
        ->type_name("ROLE")
        ->check(not_empty("a role"));
    forward
        ->add_option("--grant-operator-to", options->grant_operator_to,
                     "Grant this existing role what the operator's commands need, such as "
                     "pause, dlq, replay and retention, and nothing more")
        ->type_name("ROLE")
        ->check(not_empty("a role"));
    CLI::Option* inbox =
        forward
            ->add_option(
                "--grant-inbox-to", options->grant_inbox_to,
                "Grant this existing role the SQL functions of a ledger's inbox, and no table")
            ->type_name("ROLE")
            ->check(not_empty("a role"));
    CLI::Option* ledger = forward
                              ->add_option("--ledger", options->ledger,
                                           "The ledger that --grant-inbox-to is about")
                              ->type_name("NAME")
                              ->check(not_empty("a ledger"));
    inbox->needs(ledger);
    ledger->needs(inbox);
    forward
        ->add_option("--operation", options->operation,
                     "The only operation whose keys that role may claim; all without it")
        ->check(not_empty("an operation"))
        ->needs(inbox)
        ->type_name("NAME");
    offer_reason(*forward, options->reason, "the audit log");
    add_json_flag(*forward, *options);
    end_help(*forward,
             {.notes = "Run it as the schema's owner. Tables for your rows are yours to make.",
              .examples = {{"migrate up", "apply what is pending"},
                           {"migrate up --dsn 'host=db user=owner dbname=shop' --grant-to worker",
                            "as the owner, for a worker with fewer rights"}}});
    CLI::App* back = add("down", "Take migrations back; a dry run without --yes", down);
    back->add_option("--to", options->target, "Down to this version; 0 leaves nothing")
        ->required()
        ->check(whole_number(0, expected_version()))
        ->type_name("N");
    offer_reason(*back, options->reason, "the audit log");
    add_yes_flag(*back, *options);
    add_json_flag(*back, *options);
    end_help(*back, {.examples = {{"migrate down --to 3", "what would be taken back"}}});
    CLI::App* standing = add("status", "Show each migration", status);
    add_json_flag(*standing, *options);
    end_help(*standing, {.examples = {{"migrate status", "before an upgrade"}},
                         .exit_codes = {{exit_ok, "the schema is as this program expects it"},
                                        {exit_failure, "it is not"}}});
    CLI::App* print = add("sql", "Print the migrations for psql; connects to nothing", script);
    print->add_option("--after", options->after, "Only what comes after this version")
        ->check(whole_number(0, expected_version()))
        ->type_name("N");
    print->add_option("--grant-to", options->grant_to, grant)
        ->type_name("ROLE")
        ->check(not_empty("a role"));
    end_help(*print, {.examples = {{"migrate sql > onceward.sql", "for a DBA who runs DDL"}}});
}

}  // namespace onceward
