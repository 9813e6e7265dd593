// The program `onceward-lab`: the demo and the benchmark. It runs the `onceward` of its own folder
// as users do, and has a package of its own.

#include "cli/program.h"
#include "lab/commands/commands.h"

int main(int argument_count, char** arguments) {
    return onceward::run_program(
        {.name = "onceward-lab",
         .description = "Onceward's demo and benchmark.",
         .version = ONCEWARD_VERSION},
        [](CLI::App& program, onceward::Commands& commands) {
            onceward::add_demo(program, commands);
            onceward::add_bench(program, commands);
        },
        argument_count, arguments);
}
