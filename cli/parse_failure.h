#pragma once
// A command line that CLI11 refuses, as a sentence that names the command and what to write
// instead. Pure, except that it asks whether a word is a file's name; throws nothing but
// std::bad_alloc.

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/exit_code.h"

namespace onceward {

// If one of the words is an unknown command: an error with the nearest one. Without this CLI11
// would answer `ofsets --help` with the help of the whole program.
std::optional<UsageError> unknown_command(const CLI::App& program,
                                          const std::vector<std::string>& arguments);

// What CLI11 threw, in a user's words. `program` is the one that was parsed.
UsageError usage_error_of(const CLI::App& program, const CLI::ParseError& error);

}  // namespace onceward
