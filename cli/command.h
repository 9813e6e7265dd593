#pragma once
// How a command plugs into the program. Each command is one file in cli/ with one function
//     void add_<name>(CLI::App& program, Commands& commands);
// that adds its subcommand and options and registers what to run; see cli/commands.h for the list.
// A command returns its exit code; an exception ends the program with a line on standard error
// (cli/main.cc).

#include <CLI/CLI.hpp>
#include <functional>
#include <utility>
#include <vector>

namespace onceward {

enum ExitCode : int {
    exit_ok = 0,
    exit_failure = 1,
    exit_not_found = 3,      // no such key, topic, group, ledger, dead letter
    exit_usage = 64,         // EX_USAGE
    exit_data = 65,          // EX_DATAERR: records would be rejected
    exit_software = 70,      // EX_SOFTWARE
    exit_memory = 75,        // EX_TEMPFAIL: `run` reached its memory budget
    exit_config = 78,        // EX_CONFIG
    exit_interrupted = 130,  // by SIGINT or SIGTERM, before it was done
};

class Commands {
  public:
    // `run` is called after the command line was read, if the user chose `subcommand`. What its
    // options are bound to must outlive the call: keep it in a std::shared_ptr that `run` captures.
    void add(CLI::App& subcommand, std::function<int()> run) {
        entries_.emplace_back(&subcommand, std::move(run));
    }
    // Runs what was chosen.
    int run() const {
        for (const auto& [subcommand, function] : entries_) {
            if (subcommand->parsed()) return function();
        }
        return exit_usage;
    }

  private:
    std::vector<std::pair<CLI::App*, std::function<int()>>> entries_;
};

}  // namespace onceward
