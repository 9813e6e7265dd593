#pragma once
// What any file must look like. Pure functions of the tree.

#include "tests/tidy/tree.h"

namespace onceward::tidy {

Findings long_files(const Tree& tree);      // above 400 lines
Findings long_lines(const Tree& tree);      // above 100 columns
Findings long_functions(const Tree& tree);  // of 70 lines or more
Findings unfinished_words(const Tree& tree);
// Folders that only one machine has.
Findings machine_paths(const Tree& tree);
// Addresses of anything but the few pages that the repository may name.
Findings foreign_addresses(const Tree& tree);
// A header begins with `#pragma once` and a comment that says what it is.
Findings headers_without_comment(const Tree& tree);

}  // namespace onceward::tidy
