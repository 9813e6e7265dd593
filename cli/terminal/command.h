#pragma once
// How a command plugs into the program. Each has one function in cli/commands/,
//     void add_<name>(CLI::App& program, Commands& commands);
// that adds its subcommand and options and registers what to run; see cli/commands/commands.h for
// the list. A command returns its exit code; an exception ends the program with a line on standard
// error (cli/main.cc).

#include <CLI/CLI.hpp>
#include <functional>
#include <utility>
#include <vector>

#include "cli/terminal/exit_code.h"

namespace onceward {

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
