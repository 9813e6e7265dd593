#pragma once
// Scripts with which a shell completes the program's command line. They hold the whole tree of
// commands and never run the program, so a key press costs nothing and opens no connection. Pure;
// thread-safe.

#include <string>

#include "cli/manual/command_tree.h"

namespace onceward {

std::string bash_completion(const CommandText& program);
std::string zsh_completion(const CommandText& program);
std::string fish_completion(const CommandText& program);

}  // namespace onceward
