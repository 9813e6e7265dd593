#pragma once
// The commands of the laboratory program.

namespace CLI {
class App;
}

namespace onceward {

class Commands;

void add_demo(CLI::App& program, Commands& commands);
void add_bench(CLI::App& program, Commands& commands);
void add_soak(CLI::App& program, Commands& commands);
void add_scale(CLI::App& program, Commands& commands);

}  // namespace onceward
