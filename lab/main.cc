// The program `onceward-lab`: the demo, the benchmarks and the soak. It runs the `onceward` of its
// own folder as users do, and has a package of its own.

#include "cli/program.h"
#include "lab/commands/commands.h"

int main(int argument_count, char** arguments) {
    return onceward::run_program(
        {.name = "onceward-lab",
         .description = "Onceward's demo, benchmarks and soak.",
         .version = ONCEWARD_VERSION},
        [](CLI::App& program, onceward::Commands& commands) {
            onceward::add_demo(program, commands);
            onceward::add_bench(program, commands);
            onceward::add_soak(program, commands);
            onceward::add_scale(program, commands);
        },
        argument_count, arguments);
}
