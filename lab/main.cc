// The program `onceward-lab`: the demo and the benchmark. It runs `onceward` as its users do, from
// the folder that it is in itself, and is no part of an installation.

#include "cli/program.h"
#include "lab/commands/commands.h"

int main(int argument_count, char** arguments) {
    return onceward::run_program({.name = "onceward-lab",
                                  .description = "Onceward's demo and benchmark.",
                                  .version = ONCEWARD_VERSION},
                                 onceward::add_lab_commands, argument_count, arguments);
}
