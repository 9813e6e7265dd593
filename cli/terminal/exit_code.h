#pragma once
// What the program's exit codes mean, and the errors that end a command with one of them. The
// values from 64 on are those of sysexits(3).

#include <stdexcept>
#include <string>
#include <utility>

namespace onceward {

enum ExitCode : int {
    exit_ok = 0,
    exit_failure = 1,
    exit_not_found = 3,      // no such key, topic, group, ledger, dead letter
    exit_warning = 4,        // `doctor`: it works now, and something may not later
    exit_restart = 5,        // `plan`: it takes effect only with a restart
    exit_danger = 6,         // `plan`: messages may be applied twice, or not at all
    exit_usage = 64,         // EX_USAGE
    exit_data = 65,          // EX_DATAERR: records would be rejected
    exit_software = 70,      // EX_SOFTWARE
    exit_memory = 75,        // EX_TEMPFAIL: `run` reached its memory budget
    exit_config = 78,        // EX_CONFIG
    exit_interrupted = 130,  // by SIGINT or SIGTERM, before it was done
};

// Ends the command: with this code, the text and, unless it is empty, a hint on what to do.
class CommandError : public std::runtime_error {
  public:
    CommandError(ExitCode exit_code, const std::string& text, std::string what_to_do = "")
        : std::runtime_error(text), code(exit_code), hint(std::move(what_to_do)) {}
    ExitCode code;
    std::string hint;
};

// A command line that makes no sense.
class UsageError : public CommandError {
  public:
    explicit UsageError(const std::string& text, std::string hint = "")
        : CommandError(exit_usage, text, std::move(hint)) {}
};

// What helps if PostgreSQL says that the role lacks a right (42501).
constexpr const char* missing_right_hint =
    "the schema's owner gives this role what all commands but `migrate` need, with `onceward "
    "migrate up --grant-operator-to ROLE`; `migrate` itself is run as that owner, and your own "
    "tables need a GRANT of yours";

// Throws UsageError with this text if the line is wrong.
inline void usage_error_if(bool wrong, const std::string& text) {
    if (wrong) throw UsageError(text);
}

}  // namespace onceward
