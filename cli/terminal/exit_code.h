#pragma once
// What the program's exit codes mean, and the error that ends with exit_usage. The values from 64
// on are those of sysexits(3).

#include <stdexcept>
#include <string>

namespace onceward {

enum ExitCode : int {
    exit_ok = 0,
    exit_failure = 1,
    exit_not_found = 3,      // no such key, topic, group, ledger, dead letter
    exit_warning = 4,        // `doctor`: it works now, and something may not later
    exit_usage = 64,         // EX_USAGE
    exit_data = 65,          // EX_DATAERR: records would be rejected
    exit_software = 70,      // EX_SOFTWARE
    exit_memory = 75,        // EX_TEMPFAIL: `run` reached its memory budget
    exit_config = 78,        // EX_CONFIG
    exit_interrupted = 130,  // by SIGINT or SIGTERM, before it was done
};

// A command line that cannot be meant.
class UsageError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Throws it where the line is wrong, with this text.
inline void usage_error_if(bool wrong, const std::string& text) {
    if (wrong) throw UsageError(text);
}

}  // namespace onceward
