#pragma once
// What an option's value may be, for CLI11's check(). Those of CLI11 itself speak of programs'
// types; these say what to write. Pure.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace onceward {

// A whole number between these two, both included.
CLI::Validator whole_number(std::int64_t least = 0,
                            std::int64_t most = std::numeric_limits<std::int64_t>::max());
// A number between these two, without `least` itself if it is `above`.
CLI::Validator number_above(double least);
CLI::Validator number_within(double least, double most);
// The words with commas between them.
std::string joined(const std::vector<std::string>& words);
// One of these words. It describes itself as CLI11's own check does, so that help, manual pages and
// completions find the words by choices_of() (cli/terminal/help.h).
CLI::Validator one_of(std::vector<std::string> words);
// `what`: such as `a reason`.
CLI::Validator not_empty(std::string what);
// PostgreSQL's. What is wrong is said without showing it.
CLI::Validator connection_string();

}  // namespace onceward
