// `onceward migrate`: Onceward's own schema up, down, its state, and as a script for teams whose
// DBA runs DDL.

#include <iostream>

#include "cli/commands/commands.h"
#include "cli/operator/operator_options.h"
#include "cli/terminal/command.h"
#include "cli/terminal/output.h"
#include "dedup/server/migration.h"

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

// `begin`: where one server's lines begin; the only server needs no name.
void up_on(const MigrateOptions& options, const OperatorSetup& setup, const std::string& begin) {
    Connection connection = migrating_session(setup);
    const std::vector<int> applied = migrate_up(connection);
    if (!options.grant_to.empty()) grant_worker(connection, options.grant_to);
    if (!options.grant_operator_to.empty()) grant_operator(connection, options.grant_operator_to);
    if (!options.grant_inbox_to.empty()) {
        grant_inbox(connection, options.grant_inbox_to, options.ledger, options.operation);
    }
    std::cout << begin << "schema " << connection.schema() << " is at version "
              << expected_version()
              << (applied.empty() ? "; nothing was pending" : "; applied " + numbers(applied))
              << '\n';
    if (!options.grant_to.empty()) {
        std::cout << begin << "granted to " << options.grant_to << " what a worker needs\n";
    }
    if (!options.grant_operator_to.empty()) {
        std::cout << begin << "granted to " << options.grant_operator_to
                  << " what an operator needs\n";
    }
    if (!options.grant_inbox_to.empty()) {
        std::cout << begin << "granted to " << options.grant_inbox_to << " the inbox of ledger "
                  << options.ledger << " for "
                  << (options.operation == "*" ? "all operations" : options.operation) << '\n';
    }
}

int up(const MigrateOptions& options) {
    const std::vector<OperatorSetup> setups = operator_setups(options, "migrate");
    return on_each(setups, [&](const OperatorSetup& setup) {
        up_on(options, setup, setups.size() > 1 ? database_text(setup.database) + ": " : "");
        return exit_ok;
    });
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
    if (!options.yes) {
        std::cout << "would take back " << (taken_back.empty() ? "nothing" : numbers(taken_back))
                  << " from schema " << connection.schema()
                  << "; stop the workers first. Taking back 3 deletes the audit log, and 1 every "
                     "fence, claim and dead letter. Do it with --yes\n";
        return exit_ok;
    }
    taken_back = migrate_down(connection, options.target);
    std::cout << "schema " << connection.schema() << ": took back "
              << (taken_back.empty() ? "nothing" : numbers(taken_back)) << '\n';
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
        schema = options.config_given ? operator_setup(options, "migrate").connection.schema
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
    forward->add_option("--grant-to", options->grant_to, grant);
    forward->add_option("--grant-operator-to", options->grant_operator_to,
                        "Grant this existing role what the operator's commands need, such as "
                        "pause, dlq, replay and retention, and nothing more");
    CLI::Option* inbox = forward->add_option(
        "--grant-inbox-to", options->grant_inbox_to,
        "Grant this existing role the SQL functions of a ledger's inbox, and no table");
    CLI::Option* ledger = forward->add_option("--ledger", options->ledger,
                                              "The ledger that --grant-inbox-to is about");
    inbox->needs(ledger);
    ledger->needs(inbox);
    forward
        ->add_option("--operation", options->operation,
                     "The only operation whose keys that role may claim; all without it")
        ->needs(inbox);
    offer_reason(*forward, options->reason, "the audit log");
    CLI::App* back = add("down", "Take migrations back", down);
    back->add_option("--to", options->target, "Down to this version; 0 leaves nothing")
        ->required()
        ->check(CLI::Range(0, expected_version()));
    offer_reason(*back, options->reason, "the audit log");
    add_yes_flag(*back, *options);
    CLI::App* standing = add("status", "Show each migration", status);
    standing->add_flag("--json", options->json, "Print one JSON object");
    standing->footer("Exit codes: 0 the schema is as this program expects it, 1 it is not.");
    CLI::App* print = add("sql", "Print the migrations for psql; connects to nothing", script);
    print->add_option("--after", options->after, "Only what comes after this version")
        ->check(CLI::Range(0, expected_version()));
    print->add_option("--grant-to", options->grant_to, grant);
}

}  // namespace onceward
