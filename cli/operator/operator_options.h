#pragma once
// What the operator's commands share: which database and schema, whose configuration, and the frame
// that runs a command. Plain values.

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/configuration/databases.h"
#include "cli/keys/key_lookup.h"
#include "cli/terminal/command.h"
#include "cli/terminal/config_file.h"
#include "cli/terminal/exit_code.h"
#include "dedup/postgres/connection.h"

namespace onceward {

// A command's own options derive from these. Those from `group` on are offered only by commands
// that use them.
struct OperatorOptions {
    ConfigFile config;
    std::string dsn;
    std::string schema;
    std::string database;
    std::string group;
    std::string topic;
    std::string ledger;
    int partition = -1;
    std::string reason;
    bool yes = false;
    bool json = false;
};

// Adds -c/--config, --dsn, --schema and --database. `options` must outlive the program's run.
void add_operator_options(CLI::App& command, OperatorOptions& options);
void add_group_option(CLI::App& command, OperatorOptions& options);
void add_yes_flag(CLI::App& command, OperatorOptions& options);
void add_json_flag(CLI::App& command, OperatorOptions& options);

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
    std::string actor = {};                      // for the audit log, as to_setting() writes it
};

// Each server that the command is for: the one that --database names, that of `source` (a topic or
// a route, by name), or all. Empty if the configuration has only routes to topics. A dsn takes
// precedence over the configuration's: migrations are for the schema's owner, not for the worker's
// role. Throws ConfigurationError; UsageError if the configuration has no such database, or a dsn
// may be that of any.
std::vector<OperatorSetup> operator_setups(const OperatorOptions& options,
                                           const std::string& command,
                                           const std::string& source = "");
// The only one of them. Throws UsageError if there are more, or none.
OperatorSetup operator_setup(const OperatorOptions& options, const std::string& command,
                             const std::string& source = "");

// The group that was named, else the configuration's. Throws UsageError if there is neither.
std::string group_of(const OperatorSetup& setup, const std::string& named);
// The configuration. Throws UsageError with `why` it is needed if there is none.
const Configuration& configuration_of(const OperatorSetup& setup, const std::string& why);

// A session with a schema of this program's version. Throws what Connection and require_version()
// throw.
Connection reading_session(const OperatorSetup& setup);
// The same for a command that changes something: a crash must not lose what it commits. Throws
// ServerRefused as well.
Connection writing_session(const OperatorSetup& setup);
// The same for `migrate`, whatever the schema's version is.
Connection migrating_session(const OperatorSetup& setup);

// If the error says that the role lacks a right (42501), a line on standard error says how the role
// gets it.
void tell_missing_right(const std::exception& error);

// Runs the work on each server, no matter what another one returns. Returns the worst of the exit
// codes. If there are several servers, a server's failure is its line on standard error.
int on_each(const std::vector<OperatorSetup>& setups,
            const std::function<int(const OperatorSetup&)>& work);

// The JSON arrays that the work found on each server, as one, in which each row has its `database`.
struct Collected {
    nlohmann::json rows = nlohmann::json::array();
    int code = exit_ok;
    int code_or_not_found() const {
        return code == exit_ok && rows.empty() ? exit_not_found : code;
    }
};
Collected collect(const std::vector<OperatorSetup>& setups,
                  const std::function<nlohmann::json(const OperatorSetup&)>& work);

// Returns exit_interrupted, and says so, unless the work is done.
int exit_of_run(bool finished);

// Registers the work of `command`, which gets what its options were bound to.
template <class Options, class Work>
void add_operator_work(CLI::App& command, Commands& commands,
                       const std::shared_ptr<Options>& options, Work work) {
    commands.add(command, [options, work] { return work(*options); });
}

// Adds a command with the options of add_operator_options().
template <class Options, class Work>
CLI::App* add_operator_command(CLI::App& program, Commands& commands, const char* name,
                               const char* text, const std::shared_ptr<Options>& options,
                               Work work) {
    CLI::App* command = program.add_subcommand(name, text);
    add_operator_options(*command, *options);
    add_operator_work(*command, commands, options, work);
    return command;
}

}  // namespace onceward
