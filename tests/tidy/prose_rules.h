#pragma once
// Whether README and docs say what is there. Pure functions of the tree.

#include "tests/tidy/tree.h"

namespace onceward::tidy {

// The table under `## Folders` in docs/architecture.md lists the folders of the root, all of them
// and no others.
Findings folder_table_differences(const Tree& tree);
// The table under `## Dependencies` in docs/dependencies.md lists the Debian packages that
// scripts/setup installs and the names that CMake finds.
Findings dependency_table_differences(const Tree& tree);
// A relative link in Markdown that leads to no file, and a `folder/file.cc` that is not there.
Findings dead_links(const Tree& tree);
// A page's example of a configuration: its first YAML block. Empty where there is none.
std::string configuration_example(const Tree& tree, const std::string& page);

}  // namespace onceward::tidy
