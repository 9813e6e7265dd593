#pragma once
// What is reported about a command that failed: a text for people, or with --json one object for
// programs. Plain values; thread-safe.

#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/configuration/load.h"
#include "cli/terminal/exit_code.h"

namespace onceward {

struct ErrorReport {
    ExitCode exit = exit_failure;
    // For programs; it does not change with the text: usage, configuration, not_found,
    // postgres_unreachable, postgres_refused, missing_right, postgres, kafka, schema, failure.
    std::string code = "failure";
    std::string message;
    std::string hint{};               // what to do; '' if nothing is known
    std::string file{};               // the configuration that is wrong; '' for anything else
    std::vector<Finding> findings{};  // in it, with their places
};

ErrorReport describe_error(const std::exception& error);

// {"level", "code", "exit_code", "message", "hint", "location": {"file", "line", "column",
// "path"}}, and for a configuration all its `findings`. `hint` and `location` are null if there are
// none.
nlohmann::ordered_json error_json(const ErrorReport& report);

// On standard error, in the form that messages have. `name`: of the program, with its command.
void print_error(const std::string& name, const ErrorReport& report);

}  // namespace onceward
