#pragma once
// The frame of a program with commands: reads the command line and runs one command. Every failure
// ends here, as a message on standard error and an exit code. Adds `help`, `version`, and --json to
// each command. Used by `onceward` and by the laboratory program.

#include <string>

namespace CLI {
class App;
}

namespace onceward {

class Commands;

struct ProgramText {
    std::string name;
    std::string description;
    std::string version;
};

// Returns the process's exit code. Throws nothing. `add` adds the commands.
int run_program(const ProgramText& text, void (*add)(CLI::App&, Commands&), int argument_count,
                char** arguments);

}  // namespace onceward
