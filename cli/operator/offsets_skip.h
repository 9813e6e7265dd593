#pragma once
// `onceward offsets skip` and `offsets retry`: what an operator does about a partition that halted
// at records that cannot be read.

namespace CLI {
class App;
}

namespace onceward {

class Commands;

// REQUIRES: before `offsets` itself is added, which counts as chosen where one of these is.
void add_offsets_skip(CLI::App& offsets, Commands& commands);

}  // namespace onceward
