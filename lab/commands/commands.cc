#include "lab/commands/commands.h"

namespace onceward {

void add_lab_commands(CLI::App& program, Commands& commands) {
    add_demo(program, commands);
    add_bench(program, commands);
}

}  // namespace onceward
