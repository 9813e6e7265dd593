#pragma once
// The commands of the laboratory program, in the order in which --help shows them.

namespace CLI {
class App;
}

namespace onceward {

class Commands;

void add_demo(CLI::App& program, Commands& commands);
void add_bench(CLI::App& program, Commands& commands);

void add_lab_commands(CLI::App& program, Commands& commands);

}  // namespace onceward
