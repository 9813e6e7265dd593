#pragma once
// What the operator's commands share: which database and schema, and whose configuration. Plain
// values.

#include <iostream>
#include <optional>
#include <stdexcept>
#include <string>

#include "cli/command.h"
#include "cli/configuration/configuration.h"
#include "dedup/postgres/connection.h"

namespace onceward {

// A command line that cannot be meant; the command answers with exit_usage.
class UsageError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

struct OperatorOptions {
    std::string config = "onceward.yaml";
    std::string dsn;
    std::string schema;
    bool config_given = false;
};

// Adds -c/--config, --dsn and --schema. `options` must outlive the program's run.
void add_operator_options(CLI::App& command, OperatorOptions& options);

struct OperatorSetup {
    ConnectionOptions connection;
    std::optional<Configuration> configuration;  // none where only a dsn was given
};

// A dsn goes before the configuration's: migrations are for the schema's owner, not for the
// worker's role. Throws ConfigurationError.
OperatorSetup operator_setup(const OperatorOptions& options, const std::string& command);

// The group that was named, else the configuration's. Throws UsageError where there is neither.
std::string group_of(const OperatorSetup& setup, const std::string& named);

// Runs a command's work; a UsageError becomes its line on standard error and exit_usage.
template <class Work>
int run_operator_command(Work work) {
    try {
        return work();
    } catch (const UsageError& error) {
        std::cerr << "onceward: " << error.what() << '\n';
        return exit_usage;
    }
}

}  // namespace onceward
