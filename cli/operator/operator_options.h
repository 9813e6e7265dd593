#pragma once
// What the operator's commands share: which database and schema, and whose configuration. Plain
// values.

#include <algorithm>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/configuration/databases.h"
#include "cli/keys/key_lookup.h"
#include "cli/terminal/command.h"
#include "cli/terminal/usage_error.h"
#include "dedup/postgres/connection.h"

namespace onceward {

struct OperatorOptions {
    std::string config = "onceward.yaml";
    std::string dsn;
    std::string schema;
    std::string database;
    bool config_given = false;
};

// Adds -c/--config, --dsn, --schema and --database. `options` must outlive the program's run.
void add_operator_options(CLI::App& command, OperatorOptions& options);

// The same, after KEY, --topic and --route, and then the other options that identify a key:
// --group, --operation, --tenant, --kind, --source, --digest.
void add_key_question(CLI::App& command, OperatorOptions& options, KeyQuestion& question);

// Adds --reason, which must say something if it is given.
CLI::Option* offer_reason(CLI::App& command, std::string& reason, const std::string& kept_in);
// The same, and it must be given.
void add_reason(CLI::App& command, std::string& reason, const std::string& kept_in);

struct OperatorSetup {
    ConnectionOptions connection;
    std::string database = default_database;     // the server's name in the configuration
    std::optional<Configuration> configuration;  // nullopt if only a dsn was given
};

// Each server that the command is for: the one that --database names, that of `source` (a topic or
// a route, by name), or all. Empty if the configuration has only routes to topics. A dsn takes
// precedence over the configuration's: migrations are for the schema's owner, not for the worker's
// role. Throws ConfigurationError; UsageError if the configuration has no such database, or a dsn
// may be that of any.
std::vector<OperatorSetup> operator_setups(const OperatorOptions& options,
                                           const std::string& command,
                                           const std::string& source = "");
// The only one. Throws UsageError where there are more, or none.
OperatorSetup operator_setup(const OperatorOptions& options, const std::string& command,
                             const std::string& source = "");

// The group that was named, else the configuration's. Throws UsageError where there is neither.
std::string group_of(const OperatorSetup& setup, const std::string& named);

// The session of a command that changes something: a crash must not lose what it commits. Throws
// ServerRefused; what Connection and check_server() throw.
Connection writing_session(const OperatorSetup& setup);

// Whether it says that the role lacks a right: 42501.
bool tells_missing_right(const std::exception& error);
// Then a line on standard error: how the role gets the right.
void tell_missing_right(const std::exception& error);

// Runs the work on each server, whatever another one says: the worst of its exit codes. Where there
// are several, a server's failure is its line on standard error.
template <class Work>
int on_each(const std::vector<OperatorSetup>& setups, Work work) {
    int code = exit_ok;
    for (const OperatorSetup& setup : setups) {
        try {
            code = std::max<int>(code, work(setup));
        } catch (const std::runtime_error& error) {
            if (setups.size() == 1) throw;
            std::cerr << "onceward: " << database_text(setup.database) << ": " << error.what()
                      << '\n';
            tell_missing_right(error);
            code = exit_failure;
        }
    }
    return code;
}

// Runs a command's work; a UsageError becomes its line on standard error and exit_usage, and a
// missing right two lines: the error, and how the role gets the right.
template <class Work>
int run_operator_command(Work work) {
    try {
        return work();
    } catch (const UsageError& error) {
        std::cerr << "onceward: " << error.what() << '\n';
        return exit_usage;
    } catch (const PostgresError& error) {
        if (!tells_missing_right(error)) throw;
        std::cerr << "onceward: " << error.what() << '\n';
        tell_missing_right(error);
        return exit_failure;
    }
}

}  // namespace onceward
